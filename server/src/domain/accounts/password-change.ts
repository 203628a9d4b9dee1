import type { UserActor } from '../../actor.ts'
import type { App } from '../../app.ts'
import { ApiError } from '../../errors.ts'
import { auditedBy, noteAudit } from './audit-events.ts'
import { verifyLogin } from './login.ts'
import { hashPassword } from './passwords.ts'
import { getUser, lockVerified, setPassword } from './users.ts'

/** A wrong current password counts as a failed login, so that a stolen session cannot guess it. */
export async function changePassword(
  app: Pick<App, 'db' | 'log'>,
  actor: UserActor,
  input: { readonly current_password: string; readonly new_password: string },
): Promise<void> {
  const { email } = await getUser(app.db, actor.userId)
  const user = await verifyLogin(app, actor, { email, password: input.current_password })
  if (!user) throw wrongPassword()
  const passwordHash = await hashPassword(input.new_password)
  await app.db.transaction().execute(async (tx) => {
    const locked = await lockVerified(tx, user)
    if (!locked) throw wrongPassword()
    await setPassword(tx, locked, passwordHash, { except: actor.authSessionId })
    await noteAudit(tx, { ...auditedBy(actor), type: 'auth.password_changed' })
  })
}

function wrongPassword(): ApiError {
  return new ApiError('permission_denied', 'the current password is wrong')
}
