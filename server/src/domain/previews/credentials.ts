import type { PreviewId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor, UserActor } from '../../actor.ts'
import type { Database, Tx } from '../../db/database.ts'
import { createToken, hashToken } from '../accounts/tokens.ts'

/*
 * Browser access to private previews. A link works once and is exchanged for a cookie of that host. A
 * member's link and cookie end with their sign-in and membership; all of them end with the preview. The
 * database stores hashes only.
 */

const linkLifetime = sql`interval '1 day'`
const memberLinkLifetime = sql`interval '60 seconds'`
export const cookieLifetimeSeconds = 7 * 24 * 3600
const cookieLifetime = sql`interval '7 days'`

/**
 * Works for anyone who has it. With `member` it ends with that sign-in and works only in the browser
 * that holds the value behind `browserHash`.
 */
export async function createLink(
  db: Database,
  previewId: PreviewId,
  member?: Pick<UserActor, 'authSessionId'> & { readonly browserHash: Buffer },
): Promise<string> {
  const token = createToken('preview_link')
  await db
    .insertInto('preview_links')
    .values({
      token_hash: hashToken(token),
      preview_id: previewId,
      auth_session_id: member?.authSessionId ?? null,
      browser_hash: member?.browserHash ?? null,
      expires_at: sql`now() + ${member ? memberLinkLifetime : linkLifetime}`,
    })
    .execute()
  return token
}

/** Exchanges a link for a cookie. Null if the link was used, expired or belongs to another browser. */
export async function redeemLink(
  db: Database,
  previewId: PreviewId,
  token: string,
  browserHash: Buffer | null,
): Promise<string | null> {
  const cookie = createToken('preview_cookie')
  const { rows } = await sql`
    with used as (
      delete from preview_links
      where token_hash = ${hashToken(token)} and preview_id = ${previewId} and expires_at > now()
        and (browser_hash is null or browser_hash = ${browserHash})
      returning preview_id, auth_session_id
    )
    insert into preview_cookies (token_hash, preview_id, auth_session_id, expires_at)
    select ${hashToken(cookie)}, preview_id, auth_session_id, now() + ${cookieLifetime} from used
    returning preview_id`.execute(db)
  return rows.length === 1 ? cookie : null
}

/** The preview that each valid cookie opens, by the hexadecimal hash of the cookie. */
export async function readCookies(
  db: Database,
  hashes: readonly Buffer[],
): Promise<ReadonlyMap<string, PreviewId>> {
  if (hashes.length === 0) return new Map()
  const isAuthorized = sql<boolean>`c.auth_session_id is null or exists (
    select from auth_sessions as s
    join users as u on u.id = s.user_id
    join memberships as m on m.user_id = s.user_id
    join previews as p on p.organization_id = m.organization_id
    where s.id = c.auth_session_id and p.id = c.preview_id
      and s.revoked_at is null and s.expires_at > now() and u.disabled_at is null)`
  const rows = await db
    .selectFrom('preview_cookies as c')
    .select(['c.token_hash', 'c.preview_id'])
    .where('c.token_hash', 'in', hashes)
    .where('c.expires_at', '>', sql<Date>`now()`)
    .where(isAuthorized)
    .execute()
  return new Map(rows.map((row) => [row.token_hash.toString('hex'), row.preview_id]))
}

/** The preview of a label, if it belongs to any organization of the user. */
export async function findMembersPreview(
  db: Database,
  { userId }: Pick<Actor, 'userId'>,
  label: string,
): Promise<PreviewId | null> {
  const found = await db
    .selectFrom('previews as p')
    .innerJoin('memberships as m', 'm.organization_id', 'p.organization_id')
    .select('p.id')
    .where('p.label', '=', label)
    .where('m.user_id', '=', userId)
    .executeTakeFirst()
  return found?.id ?? null
}

export async function deleteLinks(tx: Tx, previewId: PreviewId): Promise<void> {
  await tx.deleteFrom('preview_links').where('preview_id', '=', previewId).execute()
}

export async function deleteExpiredPreviewCredentials(db: Database): Promise<void> {
  const now = sql<Date>`now()`
  await db.deleteFrom('preview_links').where('expires_at', '<=', now).execute()
  await db.deleteFrom('preview_cookies').where('expires_at', '<=', now).execute()
}
