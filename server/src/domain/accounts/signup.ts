import type { OrganizationId, UserId } from '@computer/contract'
import type { Caller } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Tx } from '../../db/database.ts'
import { ApiError, conflict } from '../../errors.ts'
import { requireAttempt, signupLimit } from './rate-limits.ts'
import { acceptInvitation } from './invitations.ts'
import { networkOf } from './ip-network.ts'
import { signIn, verifyLogin, type SignedIn } from './login.ts'
import { createPersonalOrganization } from './organizations.ts'
import { hashPassword } from './passwords.ts'
import { hashToken } from './tokens.ts'
import { findHome, findUserByEmail, insertUser, lockVerified, normalizeEmail } from './users.ts'

type Wish = {
  readonly email: string
  readonly password: string
  readonly name?: string | undefined
  readonly invitation_token?: string | undefined
}

/**
 * Makes an account with a personal organization and signs it in, in the organization of the
 * invitation if one comes along. Repeated after a lost answer, it signs in.
 */
export async function signup(
  app: Pick<App, 'db' | 'log' | 'config'>,
  caller: Caller,
  wish: Wish,
): Promise<SignedIn> {
  if (app.config.signup === 'closed' && wish.invitation_token === undefined) {
    throw new ApiError('permission_denied', 'sign-up is closed here; ask for an invitation')
  }
  await requireAttempt(app.db, signupLimit, networkOf(caller.address ?? ''))
  const email = normalizeEmail(wish.email)
  if (await findUserByEmail(app.db, email)) return signInAgain(app, caller, wish)
  const passwordHash = await hashPassword(wish.password)
  const name = wish.name ?? email.slice(0, email.indexOf('@')).slice(0, 100)

  const signedIn = await app.db.transaction().execute(async (tx) => {
    const user = await insertUser(tx, { email, name, passwordHash })
    if (!user) return null
    const personalId = await createPersonalOrganization(tx, user, app.config.signupPlan)
    const token = wish.invitation_token
    const organizationId =
      token === undefined
        ? personalId
        : (await acceptInvitation(tx, user, caller, token)).organizationId
    return signIn(tx, caller, user, organizationId, 'auth.signed_up')
  })
  // Null: another call made the account meanwhile.
  return signedIn ?? signInAgain(app, caller, wish)
}

async function signInAgain(
  app: Pick<App, 'db' | 'log'>,
  caller: Caller,
  wish: Wish,
): Promise<SignedIn> {
  const user = await verifyLogin(app, caller, wish)
  if (!user) throw taken()
  const token = wish.invitation_token
  return app.db.transaction().execute(async (tx) => {
    // The organization is locked before the user, as wherever somebody comes or goes.
    const invited =
      token === undefined
        ? null
        : ((await findEntered(tx, user.id, token)) ??
          (await acceptInvitation(tx, user, caller, token)).organizationId)
    const locked = await lockVerified(tx, user)
    if (!locked) throw taken()
    return signIn(tx, caller, locked, invited ?? (await findHome(tx, user.id)), 'auth.signed_in')
  })
}

/** The organization that an invitation led to, if the user is in it: the first call came so far. */
async function findEntered(tx: Tx, userId: UserId, token: string): Promise<OrganizationId | null> {
  const found = await tx
    .selectFrom('invitations as i')
    .innerJoin('memberships as m', 'm.organization_id', 'i.organization_id')
    .select('m.organization_id')
    .where('i.token_hash', '=', hashToken(token))
    .where('m.user_id', '=', userId)
    .executeTakeFirst()
  return found?.organization_id ?? null
}

function taken(): ApiError {
  return conflict('this email has an account; sign in, or reset its password')
}
