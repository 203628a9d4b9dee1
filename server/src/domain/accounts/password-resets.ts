import { sql } from 'kysely'
import type { Caller } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Database } from '../../db/database.ts'
import { ApiError, invalid } from '../../errors.ts'
import { countAttempt, resetMailLimit } from './rate-limits.ts'
import { noteAudit } from './audit-events.ts'
import { sendMail } from './mails.ts'
import { hashPassword } from './passwords.ts'
import { createToken, hashToken, isToken } from './tokens.ts'
import { findHome, findUserByEmail, normalizeEmail, setPassword } from './users.ts'

/**
 * Mails a link that sets a new password, if the email has an account. Answers before it is known
 * whether it has, so that neither the answer nor its time tells.
 */
export async function requestPasswordReset(
  app: Pick<App, 'db' | 'log' | 'config'>,
  caller: Caller,
  wish: { readonly email: string },
): Promise<void> {
  if (app.config.smtpUrl === null) {
    throw new ApiError('unsupported_operation', 'this deployment sends no mail; ask its operator')
  }
  mailReset(app, caller, normalizeEmail(wish.email)).catch((error: unknown) => {
    app.log.error({ err: error }, 'the mail of a password reset was not written')
  })
}

async function mailReset(
  app: Pick<App, 'db' | 'config'>,
  caller: Caller,
  email: string,
): Promise<void> {
  const { isAllowed } = await countAttempt(app.db, resetMailLimit, email)
  const user = await findUserByEmail(app.db, email)
  if (!isAllowed || !user || user.disabled_at) return
  const token = createToken('reset')
  await app.db.transaction().execute(async (tx) => {
    await tx
      .insertInto('password_resets')
      .values({
        token_hash: hashToken(token),
        user_id: user.id,
        expires_at: sql`now() + interval '1 hour'`,
      })
      .execute()
    await sendMail(tx, {
      recipient: user.email,
      subject: 'Reset your password',
      body: `Somebody, hopefully you, asked to reset the password of ${user.email}.

Set a new one here:

${app.config.dashboardUrl}/reset-password#token=${token}

The link works once and for an hour. If it was not you, ignore this mail: nothing has changed.
`,
    })
    await noteAudit(tx, {
      organizationId: await findHome(tx, user.id),
      type: 'auth.password_reset_requested',
      actor: null,
      address: caller.address,
      target: { type: 'user', id: user.id, name: user.email },
    })
  })
}

/** Sets a new password with the token of such a link. Nobody is signed in any more after it. */
export async function resetPassword(
  app: Pick<App, 'db'>,
  caller: Caller,
  wish: { readonly token: string; readonly password: string },
): Promise<void> {
  const { token } = wish
  const reset = isToken('reset', token) && (await findReset(app.db, token))
  if (!reset) throw badLink()
  const passwordHash = await hashPassword(wish.password)
  await app.db.transaction().execute(async (tx) => {
    const user = await tx
      .selectFrom('users')
      .selectAll()
      .where('id', '=', reset.user_id)
      .where('disabled_at', 'is', null)
      .forNoKeyUpdate()
      .executeTakeFirst()
    // Under the user's lock: of two that come with one token, the second finds it used.
    if (!user || !(await findReset(tx, token))) throw badLink()
    await setPassword(tx, user, passwordHash)
    await noteAudit(tx, {
      organizationId: await findHome(tx, user.id),
      type: 'auth.password_reset',
      actor: { type: 'user', id: user.id, name: user.name },
      address: caller.address,
    })
  })
}

async function findReset(db: Database, token: string) {
  return db
    .selectFrom('password_resets')
    .select('user_id')
    .where('token_hash', '=', hashToken(token))
    .where('used_at', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
}

function badLink(): ApiError {
  return invalid('this link was used, has expired or is incomplete; ask for another', [
    { field: 'token', message: 'must be the token of a link that was mailed' },
  ])
}
