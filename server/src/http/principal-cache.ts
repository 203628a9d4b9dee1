import { hash } from 'node:crypto'
import type { Actor, Caller } from '../actor.ts'
import { TtlCache } from '../cache.ts'
import type { Changes } from '../db/changes.ts'

/** Who a credential belongs to and what they may do, independent of the call. */
export type Principal = Omit<Actor, keyof Caller>

/** Saves the database from repeating a lookup for every call of the same caller. */
export type PrincipalCache = {
  /** Returns the cached principal, or the one that `lookUp` finds. */
  find(credential: string, lookUp: () => Promise<Principal>): Promise<Principal>
  /** Call it after committing a change of permissions. Clears the cache here and in all processes. */
  invalidate(): void
}

/** The cache of one process. Keys are hashes, so that no credential is kept in memory. */
export function createPrincipalCache(
  changes: Pick<Changes, 'publish' | 'subscribe'>,
  now?: () => number,
): PrincipalCache {
  const principals = new TtlCache<Principal>(now)
  changes.subscribe(() => principals.invalidate(), 'principals')
  return {
    find: (credential, lookUp) => principals.get(hash('sha256', credential, 'base64'), lookUp),
    invalidate() {
      principals.invalidate()
      changes.publish('any', 'principals')
    },
  }
}
