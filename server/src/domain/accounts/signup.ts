import type { OrganizationId, UserId } from '@computer/contract'
import type { Caller } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Tx } from '../../db/database.ts'
import { ApiError, conflict } from '../../errors.ts'
import { enforceLimit, signupLimit } from './rate-limits.ts'
import { acceptInvitation } from './invitations.ts'
import { networkOf, subnetOf } from './ip-network.ts'
import { signIn, verifyLogin, type SignedIn } from './login.ts'
import { createPersonalOrganization } from './organizations.ts'
import { hashPassword } from './passwords.ts'
import { hashToken } from './tokens.ts'
import { findHome, findUserByEmail, insertUser, lockVerified, normalizeEmail } from './users.ts'

type SignupInput = {
  readonly email: string
  readonly password: string
  readonly name?: string | undefined
  readonly invitation_token?: string | undefined
}

/**
 * Creates an account with a personal organization and signs it in: in the organization of the invitation
 * if there is one. Repeated after a lost response, it signs in.
 */
export async function signup(
  app: Pick<App, 'db' | 'log' | 'config'>,
  caller: Caller,
  input: SignupInput,
): Promise<SignedIn> {
  if (app.config.signup === 'closed' && input.invitation_token === undefined) {
    throw new ApiError(
      'permission_denied',
      'sign-up is closed on this server; ask for an invitation',
    )
  }
  await enforceLimit(app.db, signupLimit, networkOf(caller.address ?? ''))
  const email = normalizeEmail(input.email)
  if (await findUserByEmail(app.db, email)) return signInAgain(app, caller, input)
  const passwordHash = await hashPassword(input.password, subnetOf(caller.address ?? ''))
  const name = input.name ?? email.slice(0, email.indexOf('@')).slice(0, 100)

  const signedIn = await app.db.transaction().execute(async (tx) => {
    const user = await insertUser(tx, { email, name, passwordHash })
    if (!user) return null
    const personalId = await createPersonalOrganization(tx, user, app.config.signupPlan)
    const token = input.invitation_token
    const organizationId =
      token === undefined
        ? personalId
        : (await acceptInvitation(app, tx, user, caller, token)).organizationId
    return signIn(tx, caller, user, organizationId, 'auth.signed_up')
  })
  // Null: a concurrent call created the account.
  return signedIn ?? signInAgain(app, caller, input)
}

async function signInAgain(
  app: Pick<App, 'db' | 'log' | 'config'>,
  caller: Caller,
  input: SignupInput,
): Promise<SignedIn> {
  const user = await verifyLogin(app, caller, input)
  if (!user) throw taken()
  const token = input.invitation_token
  return app.db.transaction().execute(async (tx) => {
    // Lock order: the organization before the user, as for every change of members.
    const invited =
      token === undefined
        ? null
        : ((await findAccepted(tx, user.id, token)) ??
          (await acceptInvitation(app, tx, user, caller, token)).organizationId)
    const locked = await lockVerified(tx, user)
    if (!locked) throw taken()
    return signIn(tx, caller, locked, invited ?? (await findHome(tx, user.id)), 'auth.signed_in')
  })
}

/** The organization of the invitation if the user is in it, because the first call had accepted. */
async function findAccepted(tx: Tx, userId: UserId, token: string): Promise<OrganizationId | null> {
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
  return conflict('this email already has an account; sign in or reset its password')
}
