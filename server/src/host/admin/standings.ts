import type { BillingState, OrganizationId } from '@computer/contract'
import type { App } from '../../app.ts'
import { setState, setTrial } from '../../domain/operator/standings.ts'
import type { Operator } from '../../domain/operator/users.ts'
import type { AdminAnswer } from './request.ts'

export async function showState(
  app: Pick<App, 'db'>,
  operator: Operator,
  request: {
    readonly organizationId: OrganizationId
    readonly state: Exclude<BillingState, 'trialing'>
  },
): Promise<AdminAnswer> {
  const changed = await setState(app, operator, request.organizationId, request.state)
  const { id, name, state, past_due_since, plan_ends_at, machines_stop_at } = changed
  const texts: Record<BillingState, string> = {
    trialing: `${name} is trialing`,
    active: `${name} is active`,
    past_due: `${name} is past due since ${past_due_since?.toISOString()}`,
    canceled: `${name} is canceled, and has the sign-up plan from ${plan_ends_at?.toISOString()} on`,
  }
  return {
    json: { id, name, state, past_due_since, plan_ends_at, machines_stop_at },
    text: texts[state],
  }
}

export async function showTrial(
  app: Pick<App, 'db'>,
  operator: Operator,
  request: {
    readonly organizationId: OrganizationId
    readonly planId: string
    readonly limits: Readonly<Record<string, string>>
    readonly until: string
  },
): Promise<AdminAnswer> {
  const { organizationId, planId, limits } = request
  const trial = { planId, limits, until: new Date(request.until) }
  const { id, name, plan_id, terms } = await setTrial(app, operator, organizationId, trial)
  const until = trial.until.toISOString()
  return {
    json: { id, name, plan_id, limits: terms, trial_ends_at: until },
    text: `${name} has the plan ${plan_id} until ${until}, and then the sign-up plan`,
  }
}
