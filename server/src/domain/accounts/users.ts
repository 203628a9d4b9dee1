import type { AuthSessionId, OrganizationId, UserId } from '@computer/contract'
import { sql } from 'kysely'
import type { Database, Tx, UserRow } from '../../db/database.ts'
import { newId } from '../../ids.ts'
import { clearAttemptsAnywhere, loginLimit, unknownNetworksLimit } from './rate-limits.ts'
import { endAuthSessions } from './auth-sessions.ts'

/** Emails are case-insensitive, so they are stored in lower case. */
export function normalizeEmail(email: string): string {
  return email.toLowerCase()
}

export async function findUserByEmail(db: Database, email: string): Promise<UserRow | undefined> {
  return db.selectFrom('users').selectAll().where('email', '=', email).executeTakeFirst()
}

export async function getUser(db: Database, id: UserId): Promise<UserRow> {
  return db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}

/** Null if the email is taken. */
export async function insertUser(
  tx: Tx,
  user: { readonly email: string; readonly name: string; readonly passwordHash: string },
): Promise<UserRow | null> {
  const { email, name, passwordHash } = user
  const row = await tx
    .insertInto('users')
    .values({ id: newId('usr'), email, name, password_hash: passwordHash })
    .onConflict((existing) => existing.column('email').doNothing())
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/** Locks a user whose password was verified. Null if it has changed since or the user was disabled. */
export async function lockVerified(tx: Tx, user: UserRow): Promise<UserRow | null> {
  const row = await tx
    .selectFrom('users')
    .selectAll()
    .where('id', '=', user.id)
    .where('password_hash', '=', user.password_hash)
    .where('disabled_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return row ?? null
}

/**
 * Replaces a password, ends the user's sessions except for the given one, and invalidates outstanding
 * reset and sign-in links.
 */
export async function setPassword(
  tx: Tx,
  user: { readonly id: UserId; readonly email: string },
  passwordHash: string,
  options: { readonly except?: AuthSessionId } = {},
): Promise<void> {
  await tx
    .updateTable('users')
    .set({ password_hash: passwordHash })
    .where('id', '=', user.id)
    .execute()
  await endAuthSessions(tx, user.id, options)
  for (const links of ['password_resets', 'login_links'] as const) {
    await tx
      .updateTable(links)
      .set({ used_at: sql`now()` })
      .where('user_id', '=', user.id)
      .where('used_at', 'is', null)
      .execute()
  }
  await clearAttemptsAnywhere(tx, loginLimit, user.email)
  await clearAttemptsAnywhere(tx, unknownNetworksLimit, user.email)
}

/**
 * The organization in which a user's next session acts: that of their last session or, without one, the
 * organization they joined first, which is their personal one.
 */
export async function findHome(db: Database, id: UserId): Promise<OrganizationId> {
  const last = sql`(select organization_id from auth_sessions
    where user_id = ${id} order by id desc limit 1)`
  const { organization_id } = await db
    .selectFrom('memberships')
    .select('organization_id')
    .where('user_id', '=', id)
    .orderBy(sql`coalesce(organization_id = ${last}, false)`, 'desc')
    .orderBy('id')
    .limit(1)
    .executeTakeFirstOrThrow()
  return organization_id
}
