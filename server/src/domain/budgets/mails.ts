import type { Config } from '../../config.ts'
import type { Tx } from '../../db/database.ts'
import { mailOwners } from '../accounts/owner-mails.ts'
import { isExhausted } from './measure.ts'
import type { MeasuredBudget } from './use.ts'
import { describeEnd, describeUse, nameBudget } from './words.ts'

/** Tells the owners of a budget's organization that a threshold was reached. */
export async function mailThreshold(
  tx: Tx,
  config: Pick<Config, 'smtpUrl' | 'dashboardUrl'>,
  budget: MeasuredBudget,
  percent: number,
): Promise<void> {
  const page = new URL('/billing', config.dashboardUrl)
  await mailOwners(tx, config, budget.organization_id, (organization) => ({
    subject: `${percent} % of the budget ${budget.name} is used`,
    body: bodyOf(budget, organization, page),
  }))
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
