import type { UserActor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { UserRow } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'
import { auditedBy, noteAudit } from './audit-events.ts'
import { hashPassword, verifyPassword } from './passwords.ts'
import { clearAttempts, enforceLimit, passwordChangeLimit } from './rate-limits.ts'
import { getUser, lockVerified, setPassword } from './users.ts'

export async function changePassword(
  app: Pick<App, 'db'>,
  actor: UserActor,
  input: { readonly current_password: string; readonly new_password: string },
): Promise<void> {
  const user = await verifyOwnPassword(app, actor, input.current_password)
  const passwordHash = await hashPassword(input.new_password)
  await app.db.transaction().execute(async (tx) => {
    const locked = await lockVerified(tx, user)
    if (!locked) throw wrongPassword()
    await setPassword(tx, locked, passwordHash, { except: actor.authSessionId })
    await clearAttempts(tx, passwordChangeLimit, actor.userId)
    await noteAudit(tx, { ...auditedBy(actor), type: 'auth.password_changed' })
  })
}

/** Wrong passwords are limited, so that a stolen session cannot guess the right one. */
export async function verifyOwnPassword(
  app: Pick<App, 'db'>,
  actor: UserActor,
  password: string,
): Promise<UserRow> {
  await enforceLimit(app.db, passwordChangeLimit, actor.userId)
  const user = await getUser(app.db, actor.userId)
  if (!(await verifyPassword(password, user.password_hash))) throw wrongPassword()
  return user
}

export function wrongPassword(): ApiError {
  return new ApiError('permission_denied', 'the current password is wrong')
}
