import type { PreviewId } from '@computer/contract'
import type { App } from '../../app.ts'
import { readCookies } from '../../domain/previews/credentials.ts'
import { findTarget, type PreviewTarget } from '../../domain/previews/hosts.ts'
import { MomentCache } from './moment-cache.ts'

/** What each label leads to. */
export type TargetCache = MomentCache<PreviewTarget | undefined>
/** What each cookie opens, by its hash in hexadecimal. */
export type CookieCache = MomentCache<PreviewId | undefined>

export function createTargetCache({ db }: Pick<App, 'db'>): TargetCache {
  return new MomentCache((label) => findTarget(db, label))
}

export function createCookieCache({ db }: Pick<App, 'db'>): CookieCache {
  return new MomentCache(async (hash) => {
    const found = await readCookies(db, [Buffer.from(hash, 'hex')])
    return found.get(hash)
  })
}
