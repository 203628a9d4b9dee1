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
 * Mails a link to set a new password, if the email has an account. Returns before that is known, so that
 * neither the response nor its time reveals it.
 */
export async function requestPasswordReset(
  app: Pick<App, 'db' | 'log' | 'config'>,
  caller: Caller,
  input: { readonly email: string },
): Promise<void> {
  if (app.config.smtpUrl === null) {
    throw new ApiError(
      'unsupported_operation',
      'this server cannot send mail; ask its operator to set a new password',
    )
  }
  mailReset(app, caller, normalizeEmail(input.email)).catch((error: unknown) => {
    app.log.error({ err: error }, 'could not queue a password reset mail')
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

The link works once, within an hour. If it was not you, ignore this email: nothing has changed.
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

/** Sets a new password with the token of a mailed link, and ends all sessions of the user. */
export async function resetPassword(
  app: Pick<App, 'db'>,
  caller: Caller,
  input: { readonly token: string; readonly password: string },
): Promise<void> {
  const { token } = input
  const reset = isToken('reset', token) && (await findReset(app.db, token))
  if (!reset) throw badLink()
  const passwordHash = await hashPassword(input.password)
  await app.db.transaction().execute(async (tx) => {
    const user = await tx
      .selectFrom('users')
      .selectAll()
      .where('id', '=', reset.user_id)
      .where('disabled_at', 'is', null)
      .forNoKeyUpdate()
      .executeTakeFirst()
    // Checked again under the user's lock: of two concurrent calls with one token, the second fails.
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
  return invalid('this link was already used, has expired or is incomplete; request a new one', [
    { field: 'token', message: 'must be the token of a password reset link' },
  ])
}
