import type { BillingState, OrganizationId } from '@computer/contract'
import type { App } from '../../app.ts'
import { lockAccount } from '../accounts/periods.ts'
import { changeStanding } from '../accounts/standing.ts'
import { lockExisting } from './organizations.ts'
import { setPlan, type ChangedPlan } from './plans.ts'
import type { Operator } from './users.ts'

/** Changes the state of an account, as a payment provider does otherwise. */
export async function setState(
  app: Pick<App, 'db'>,
  operator: Operator,
  organizationId: OrganizationId,
  state: Exclude<BillingState, 'trialing'>,
) {
  return app.db.transaction().execute(async (tx) => {
    const organization = await lockExisting(tx, organizationId)
    await changeStanding(tx, organizationId, { state, by: operator })
    const account = await lockAccount(tx, organizationId)
    return { ...organization, ...account }
  })
}

/**
 * Gives an organization a plan at once and until a time, when the sign-up plan follows unless the operator
 * changes the plan or the state before.
 */
export async function setTrial(
  app: Pick<App, 'db'>,
  operator: Operator,
  organizationId: OrganizationId,
  trial: {
    readonly planId: string
    readonly limits: Readonly<Record<string, string>>
    readonly until: Date
  },
): Promise<ChangedPlan> {
  const { planId, limits, until: trialEndsAt } = trial
  const change = { planId, limits, immediate: true, trialEndsAt }
  return setPlan(app, operator, organizationId, change)
}
