import type { Config } from '../../config.ts'
import type { Tx } from '../../db/database.ts'
import { sendMail } from '../accounts/mails.ts'
import { isExhausted } from './measure.ts'
import type { MeasuredBudget } from './use.ts'
import { describeEnd, describeUse, nameBudget } from './words.ts'

/** Tells the owners of a budget's organization that a threshold was reached. */
export async function mailOwners(
  tx: Tx,
  { smtpUrl, dashboardUrl }: Pick<Config, 'smtpUrl' | 'dashboardUrl'>,
  budget: MeasuredBudget,
  percent: number,
): Promise<void> {
  if (smtpUrl === null) return
  const owners = await tx
    .selectFrom('memberships as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .innerJoin('organizations as o', 'o.id', 'm.organization_id')
    .select(['u.email', 'o.name'])
    .where('m.organization_id', '=', budget.organization_id)
    .where('m.role', '=', 'owner')
    .where('u.disabled_at', 'is', null)
    .orderBy('u.id')
    .execute()
  for (const { email, name } of owners) {
    await sendMail(tx, {
      recipient: email,
      subject: `${percent} % of the budget ${budget.name} is used`,
      body: bodyOf(budget, name, new URL('/billing', dashboardUrl)),
    })
  }
}

function bodyOf(budget: MeasuredBudget, organization: string, page: URL): string {
  return `${nameBudget(budget)} of ${organization}: ${describeUse(budget)} used; ${describeEnd(budget)}.

${consequenceOf(budget)}

Budgets are at ${page}
`
}

function consequenceOf({ action, measure }: MeasuredBudget): string {
  const when = isExhausted(measure) ? 'Nothing is left:' : 'When nothing is left,'
  switch (action) {
    case 'refuse':
      return `${when} machines that count for it cannot be started. Those that run go on.`
    case 'stop':
      return `${when} machines that count for it are stopped, and cannot be started.`
    default:
      return 'It stops nothing.'
  }
}
