import { hash } from 'node:crypto'
import type { Actor, Caller } from '../actor.ts'
import type { Changes } from '../db/changes.ts'

/** Who a credential stands for and what they may do, wherever a call comes from. */
export type Principal = Omit<Actor, keyof Caller>

/** Spares the database the same question for each call of the same caller. */
export type PrincipalCache = {
  /** Who was found a moment ago, or whom `lookUp` finds now. Calls at once share one look. */
  find(credential: string, lookUp: () => Promise<Principal>): Promise<Principal>
  /** Called after the commit of what changed who may do what: forgets all, here and everywhere. */
  invalidate(): void
}

/**
 * A key that is revoked, a session that ends and a role that is lost count within a second, in every
 * process. The moment begins before the database is asked: however long it takes, what it saw is older.
 */
const momentMs = 900

/**
 * The cache of one process. To forget drops the looks that are under way as well: those who wait for
 * one already get its answer, nobody after them does.
 */
export function createPrincipalCache(
  changes: Pick<Changes, 'publish' | 'subscribe'>,
  now = () => performance.now(),
): PrincipalCache {
  /** By the hash of the credential, which itself is not kept; the oldest first. */
  const looks = new Map<string, { readonly began: number; readonly found: Promise<Principal> }>()
  changes.subscribe(() => looks.clear(), 'principals')

  function dropOld(): void {
    for (const [key, { began }] of looks) {
      if (now() - began < momentMs) return
      looks.delete(key)
    }
  }

  return {
    find(credential, lookUp) {
      dropOld()
      const key = hash('sha256', credential, 'base64')
      const known = looks.get(key)
      if (known) return known.found
      const look = { began: now(), found: lookUp() }
      looks.set(key, look)
      // A refusal is asked for again: a key may have just been made.
      look.found.catch(() => {
        if (looks.get(key) === look) looks.delete(key)
      })
      return look.found
    },
    invalidate() {
      looks.clear()
      changes.publish('any', 'principals')
    },
  }
}
