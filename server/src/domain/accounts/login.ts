import type { OrganizationId } from '@computer/contract'
import type { Caller, UserActor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Tx, UserRow } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'
import { forgetAttempts, loginLimit, requireAttempt } from './rate-limits.ts'
import { auditedBy, noteAudit } from './audit-events.ts'
import { openAuthSession } from './auth-sessions.ts'
import { hashPassword, isOutdated, verifyPassword } from './passwords.ts'
import { findHome, findUserByEmail, lockVerified, normalizeEmail } from './users.ts'

export type SignedIn = { readonly token: string; readonly actor: UserActor }

/**
 * Signs a person in. Whether an email has an account shows neither in what is answered nor in the
 * work that is done: also one that is unknown, disabled or without a password costs a verification.
 */
export async function login(
  app: Pick<App, 'db' | 'log'>,
  caller: Caller,
  wish: { readonly email: string; readonly password: string },
): Promise<SignedIn> {
  const user = await verifyLogin(app, caller, wish)
  if (!user) throw wrongLogin()
  const rehashed = await rehash(user, wish.password)
  return app.db.transaction().execute(async (tx) => {
    const locked = await lockVerified(tx, user)
    if (!locked) throw wrongLogin()
    if (rehashed !== null) {
      await tx
        .updateTable('users')
        .set({ password_hash: rehashed })
        .where('id', '=', user.id)
        .execute()
    }
    return signIn(tx, caller, locked, await findHome(tx, user.id), 'auth.signed_in')
  })
}

/** The user whose email and password these are, or null. An attempt counts until it succeeds. */
export async function verifyLogin(
  app: Pick<App, 'db' | 'log'>,
  caller: Caller,
  wish: { readonly email: string; readonly password: string },
): Promise<UserRow | null> {
  const email = normalizeEmail(wish.email)
  await requireAttempt(app.db, loginLimit, email)
  const user = await findUserByEmail(app.db, email)
  const stored = user?.disabled_at === null ? user.password_hash : null
  if (await verifyPassword(wish.password, stored)) return user ?? null
  if (user) {
    // Nobody waits for it: an unknown email has nothing to note, and would be told by its speed.
    noteFailure(app, caller, user).catch((error: unknown) => {
      app.log.error({ err: error, user_id: user.id }, 'a failed sign-in was not noted')
    })
  }
  return null
}

/** Opens the session of a user who was verified and is locked. */
export async function signIn(
  tx: Tx,
  caller: Caller,
  user: UserRow,
  organizationId: OrganizationId,
  type: 'auth.signed_in' | 'auth.signed_up',
): Promise<SignedIn> {
  await forgetAttempts(tx, loginLimit, user.email)
  const signedIn = await openAuthSession(tx, caller, user.id, organizationId)
  await noteAudit(tx, { ...auditedBy(signedIn.actor), type })
  return signedIn
}

async function rehash(user: UserRow, password: string): Promise<string | null> {
  const isCurrent = user.password_hash !== null && !isOutdated(user.password_hash)
  return isCurrent ? null : hashPassword(password)
}

async function noteFailure(
  { db }: Pick<App, 'db'>,
  { address }: Caller,
  user: UserRow,
): Promise<void> {
  await noteAudit(db, {
    organizationId: await findHome(db, user.id),
    type: 'auth.sign_in_failed',
    actor: null,
    address,
    target: { type: 'user', id: user.id, name: user.email },
    outcome: 'failed',
    message: user.disabled_at ? 'the account is disabled' : 'the password is wrong',
  })
}

function wrongLogin(): ApiError {
  return new ApiError('unauthenticated', 'the email or the password is wrong')
}
