import type { App } from '../../app.ts'
import { createLoginLink } from '../../domain/operator/login-links.ts'
import type { Operator } from '../../domain/operator/users.ts'
import { findServer } from '../server-lock.ts'
import type { AdminAnswer } from './request.ts'

/**
 * The link leads to the address that the running server has, although the shell of its operator may lack
 * the variables of its service.
 */
export async function printLoginLink(
  app: Pick<App, 'db' | 'config'>,
  operator: Operator,
  email: string | null,
): Promise<AdminAnswer> {
  const { config } = app
  const dashboardUrl = findServer(config.dataDir)?.dashboardUrl ?? config.dashboardUrl
  const link = await createLoginLink({ db: app.db, config: { dashboardUrl } }, operator, email)
  const { url, account, expiresAt } = link
  const purpose = account === null ? 'sets up the first account' : `signs in ${account.email}`
  return {
    json: { url, account, expires_at: expiresAt },
    text: `${url}\nThis link ${purpose}. It works once, within 10 minutes.`,
  }
}
