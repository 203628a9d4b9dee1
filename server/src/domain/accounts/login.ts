import type { OrganizationId } from '@computer/contract'
import type { Caller, UserActor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Tx, UserRow } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'
import { auditedBy, noteAudit } from './audit-events.ts'
import { hasSignedInFrom, openAuthSession } from './auth-sessions.ts'
import { subnetOf } from './ip-network.ts'
import { hashPassword, isOutdated, verifyPassword } from './passwords.ts'
import {
  clearAttempts,
  enforceLimit,
  knownNetworksLimit,
  loginLimit,
  unknownNetworksLimit,
} from './rate-limits.ts'
import { findHome, findUserByEmail, lockVerified, normalizeEmail } from './users.ts'

export type SignedIn = { readonly token: string; readonly actor: UserActor }

/**
 * Signs a user in. Neither the response nor the work done reveals whether an email has an account: a
 * password is also verified for unknown emails and for accounts that are disabled or have no password.
 */
export async function login(
  app: Pick<App, 'db' | 'log'>,
  caller: Caller,
  credentials: { readonly email: string; readonly password: string },
): Promise<SignedIn> {
  const user = await verifyLogin(app, caller, credentials)
  if (!user) throw wrongLogin()
  const rehashed = await rehash(user, credentials.password)
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

/** The user with this email and password, or null. Only failed attempts count against the limit. */
export async function verifyLogin(
  app: Pick<App, 'db' | 'log'>,
  caller: Caller,
  credentials: { readonly email: string; readonly password: string },
): Promise<UserRow | null> {
  const email = normalizeEmail(credentials.email)
  const network = subnetOf(caller.address ?? '')
  await enforceLimit(app.db, loginLimit, email, network)
  const isKnown = await hasSignedInFrom(app.db, email, network)
  await enforceLimit(app.db, isKnown ? knownNetworksLimit : unknownNetworksLimit, email)
  const user = await findUserByEmail(app.db, email)
  const stored = user?.disabled_at === null ? user.password_hash : null
  if (await verifyPassword(credentials.password, stored, network)) return user ?? null
  if (user) {
    // Not awaited: unknown emails skip this step, and the time must not reveal them.
    noteFailure(app, caller, user).catch((error: unknown) => {
      app.log.error(
        { err: error, user_id: user.id },
        'could not write a failed sign-in to the audit log',
      )
    })
  }
  return null
}

/** Opens a session for a user whose password was verified and whose row is locked. */
export async function signIn(
  tx: Tx,
  caller: Caller,
  user: UserRow,
  organizationId: OrganizationId,
  type: 'auth.signed_in' | 'auth.signed_up',
): Promise<SignedIn> {
  await clearAttempts(tx, loginLimit, user.email, subnetOf(caller.address ?? ''))
  await clearAttempts(tx, unknownNetworksLimit, user.email)
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
  return new ApiError('unauthenticated', 'wrong email or password')
}
