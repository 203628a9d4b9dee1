import type { OrganizationId, UserId } from '@computer/contract'
import { sql } from 'kysely'
import type { Caller } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Database, Tx, UserRow } from '../../db/database.ts'
import { isUniqueViolation } from '../../db/errors.ts'
import { ApiError, conflict, invalid } from '../../errors.ts'
import { auditedBy, noteAudit } from './audit-events.ts'
import { openAuthSession } from './auth-sessions.ts'
import { networkOf, subnetOf } from './ip-network.ts'
import type { SignedIn } from './login.ts'
import { hashPassword } from './passwords.ts'
import { clearAttempts, enforceLimit, loginLinkLimit } from './rate-limits.ts'
import { createToken, hashToken, isToken } from './tokens.ts'
import { findUserByEmail, normalizeEmail, setPassword } from './users.ts'

/*
 * Sign-in links, which only an operator on the server's host can make. A link signs its user in without a
 * password, once. The first owner of a server has no password: their link asks for an account, and makes
 * that very user the person's, so that everything they own stays theirs.
 */

type Account = {
  readonly email: string
  readonly password: string
  readonly name?: string | undefined
}

/** Only the hash of the token is stored. */
export async function insertLoginLink(
  tx: Tx,
  link: { readonly userId: UserId; readonly organizationId: OrganizationId },
): Promise<{ readonly token: string; readonly expiresAt: Date }> {
  const token = createToken('login_link')
  const { expires_at } = await tx
    .insertInto('login_links')
    .values({
      token_hash: hashToken(token),
      user_id: link.userId,
      organization_id: link.organizationId,
      expires_at: sql`now() + interval '10 minutes'`,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return { token, expiresAt: expires_at }
}

/** What a link is for. Looking does not use it up. */
export async function lookUpLoginLink(app: Pick<App, 'db'>, caller: Caller, token: string) {
  const link = await getLink(app.db, caller, token)
  return {
    organization: { name: link.organization_name },
    account: link.isClaimed ? { email: link.email, name: link.name } : null,
    expires_at: link.expires_at,
  }
}

/** Signs the user of a link in. A refused account does not use the link up. */
export async function logInWithLink(
  app: Pick<App, 'db'>,
  caller: Caller,
  { token, account }: { readonly token: string; readonly account?: Account | undefined },
): Promise<SignedIn> {
  const link = await getLink(app.db, caller, token)
  if (link.isClaimed !== (account === undefined)) throw wrongAccount(link.isClaimed)
  const passwordHash =
    account && (await hashPassword(account.password, subnetOf(caller.address ?? '')))
  return app.db.transaction().execute(async (tx) => {
    const user = await lockEnabled(tx, link.user_id)
    if (!user || !(await useUp(tx, token))) throw ended()
    if (account && passwordHash) await claim(tx, user, { ...account, passwordHash })
    await clearAttempts(tx, loginLinkLimit, networkOf(caller.address ?? ''))
    const signedIn = await openAuthSession(tx, caller, user.id, link.organization_id)
    const type = account ? 'auth.signed_up' : 'auth.signed_in'
    await noteAudit(tx, { ...auditedBy(signedIn.actor), type, message: 'with a sign-in link' })
    return signedIn
  })
}

/** The link of a token, while it can be used. A user without a password is nobody's account yet. */
async function getLink(db: Database, caller: Caller, token: string) {
  if (!isToken('login_link', token)) throw ended()
  await enforceLimit(db, loginLinkLimit, networkOf(caller.address ?? ''))
  const link = await db
    .selectFrom('login_links as l')
    .innerJoin('users as u', 'u.id', 'l.user_id')
    .innerJoin('organizations as o', 'o.id', 'l.organization_id')
    .innerJoin('memberships as m', (join) =>
      join
        .onRef('m.user_id', '=', 'l.user_id')
        .onRef('m.organization_id', '=', 'l.organization_id'),
    )
    .select(['l.user_id', 'l.organization_id', 'l.expires_at', 'u.email', 'u.name'])
    .select('o.name as organization_name')
    .select(sql<boolean>`u.password_hash is not null`.as('isClaimed'))
    .where('l.token_hash', '=', hashToken(token))
    .where('l.used_at', 'is', null)
    .where('l.expires_at', '>', sql<Date>`now()`)
    .where('u.disabled_at', 'is', null)
    .executeTakeFirst()
  if (!link) throw ended()
  return link
}

async function lockEnabled(tx: Tx, id: UserId): Promise<UserRow | undefined> {
  return tx
    .selectFrom('users')
    .selectAll()
    .where('id', '=', id)
    .where('disabled_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

/** False if another call has used the link, a new password has ended it, or its time has passed. */
async function useUp(tx: Tx, token: string): Promise<boolean> {
  const used = await tx
    .updateTable('login_links')
    .set({ used_at: sql`now()` })
    .where('token_hash', '=', hashToken(token))
    .where('used_at', 'is', null)
    .where('expires_at', '>', sql<Date>`statement_timestamp()`)
    .returning('user_id')
    .executeTakeFirst()
  return used !== undefined
}

/** Makes a locked user without a password the account of a person. Their other links end. */
async function claim(
  tx: Tx,
  user: UserRow,
  account: Account & { readonly passwordHash: string },
): Promise<void> {
  const email = normalizeEmail(account.email)
  const name = account.name ?? email.slice(0, email.indexOf('@')).slice(0, 100)
  const other = await findUserByEmail(tx, email)
  if (other && other.id !== user.id) throw taken(email)
  await setPassword(tx, user, account.passwordHash)
  try {
    await tx.updateTable('users').set({ email, name }).where('id', '=', user.id).execute()
  } catch (error) {
    // A concurrent sign-up took the email.
    throw isUniqueViolation(error, 'users_email_key') ? taken(email) : error
  }
}

function wrongAccount(isClaimed: boolean): ApiError {
  return isClaimed
    ? invalid('this link signs an existing account in; send the token alone', [
        { field: 'account', message: 'must not be given' },
      ])
    : invalid('nobody has an account here yet; send account with an email and a password', [
        { field: 'account', message: 'is required to set up the account' },
      ])
}

function taken(email: string): ApiError {
  return conflict(`${email} already has an account on this server; choose another email`)
}

function ended(): ApiError {
  return new ApiError(
    'not_found',
    'this sign-in link was already used, has expired or is incomplete; print another on the server with `computer admin login-link`',
  )
}
