import type { OrganizationId } from '@computer/contract'
import { sql, type Selectable } from 'kysely'
import type { App } from '../../app.ts'
import type { Database, Schema, Tx } from '../../db/database.ts'
import type { CustomerReading, Subscription } from '../../payments/provider.ts'
import { noteAudit } from '../accounts/audit-events.ts'
import { lockAnyOrganization } from '../accounts/organizations.ts'
import { findOpenPeriod, lockAccount, rollPeriod, updateAccount } from '../accounts/periods.ts'
import { changePlan, isLower } from '../accounts/plan-changes.ts'
import { changeStanding } from '../accounts/standing.ts'
import { endOfMonth } from '../calendar.ts'

/*
 * What a customer's subscription means for the account of the organization. The provider is read and never
 * believed by what it sends: its notifications repeat, come in any order, or not at all.
 *
 * A reading takes a number before it begins. It is applied under the account's lock, unless one with a
 * higher number has been: that one began later, so it saw whatever this one was made for.
 */

type AccountRow = Selectable<Schema['billing_accounts']>

export function isSubscribed(
  account: Pick<AccountRow, 'subscription_id' | 'subscription_ended_at'>,
): boolean {
  return account.subscription_id !== null && account.subscription_ended_at === null
}

/** Reads the customer of an organization and applies what counts. Without a customer it does nothing. */
export async function refreshSubscription(
  app: Pick<App, 'db' | 'config' | 'log' | 'payments'>,
  organizationId: OrganizationId,
): Promise<void> {
  const ticket = await app.db
    .updateTable('billing_accounts')
    .set({ customer_read_at: sql`clock_timestamp()` })
    .where('organization_id', '=', organizationId)
    .where('customer_id', 'is not', null)
    .returning(['customer_id', sql<number>`nextval('customer_readings')`.as('number')])
    .executeTakeFirst()
  if (!ticket) return
  const reading = await app.payments.readCustomer(ticket.customer_id!)
  const { otherSubscriptionIds: others } = reading
  if (others.length > 0) {
    const fields = { organization_id: organizationId, subscription_ids: others }
    app.log.error(fields, 'a customer has more than one subscription; cancel these at the provider')
  }
  await app.db.transaction().execute(async (tx) => {
    const organization = (await lockAnyOrganization(tx, organizationId))!
    const account = await lockAccount(tx, organizationId)
    if (account.applied_reading >= ticket.number) return
    await updateAccount(tx, organizationId, { applied_reading: ticket.number })
    await applyReading(tx, app, { organization, account, reading })
  })
}

type Application = {
  readonly organization: { readonly id: OrganizationId; readonly name: string }
  readonly account: Awaited<ReturnType<typeof lockAccount>>
  readonly reading: CustomerReading
}

async function applyReading(
  tx: Tx,
  app: Pick<App, 'config' | 'log'>,
  { organization, account, reading }: Application,
): Promise<void> {
  const { id } = organization
  const subscription = reading.subscription ?? vanished(account)
  if (!subscription) return
  const isOver = subscription.state === 'canceled'
  // The account may have another state since then: it is not canceled again.
  const isKnownToBeOver = isOver && account.subscription_ended_at !== null
  if (isKnownToBeOver && account.subscription_id === subscription.id) return
  await updateAccount(tx, id, {
    subscription_id: subscription.id,
    subscription_ended_at: isOver
      ? (account.subscription_ended_at ?? subscription.endedAt ?? sql<Date>`clock_timestamp()`)
      : null,
    ...(!isOver && { checkout_id: null, checkout_started_at: null }),
  })
  if (account.is_deleted) return
  const state = reading.owes && !isOver ? 'past_due' : subscription.state
  const trialEndsAt = state === 'trialing' ? subscription.trialEndsAt : null
  const planEnds = subscription.endedAt && { planEndsAt: paidUntil(subscription.endedAt) }
  await changeStanding(tx, id, { state, trialEndsAt, ...(isOver && planEnds) })
  await applyPlan(tx, app, { organization, account, subscription })
}

/**
 * Until when a subscription is paid that ended at a time: the end of its month. One that ends with a month may
 * be ended a moment late.
 */
function paidUntil(endedAt: Date): Date {
  return endOfMonth(new Date(endedAt.getTime() - 60_000))
}

/** A subscription that the provider has no more, because the customer was deleted there. */
function vanished(account: AccountRow): Subscription | null {
  const { subscription_id: id } = account
  if (id === null) return null
  const gone = { planId: null, isEnding: true, trialEndsAt: null, endedAt: null }
  return { id, state: 'canceled', ...gone }
}

/**
 * Gives the organization the plan of its subscription, whenever that is another than was applied last: a plan
 * that the operator gave meanwhile stays. One that ends, now or with the month, leads to the plan of new
 * organizations.
 */
async function applyPlan(
  tx: Tx,
  { config, log }: Pick<App, 'config' | 'log'>,
  {
    organization,
    account,
    subscription,
  }: Pick<Application, 'organization' | 'account'> & { readonly subscription: Subscription },
): Promise<void> {
  const { id } = organization
  const { state, isEnding } = subscription
  const ends = isEnding || state === 'canceled'
  const planId = ends ? config.signupPlan : subscription.planId
  if (planId === account.subscription_plan_id) return
  if (planId === null || !(await isKnown(tx, planId))) {
    const fields = { organization_id: id, subscription_id: subscription.id }
    log.warn(fields, 'the price of a subscription belongs to no plan of the catalog')
    return
  }
  await updateAccount(tx, id, { subscription_plan_id: planId })
  await rollPeriod(tx, id)
  const period = await findOpenPeriod(tx, id)
  // Nobody is given more for ending a subscription.
  if (ends && !(await isLower(tx, planId, period.plan_id))) return
  const terms = planId === period.plan_id ? period.terms : {}
  const { from, effectiveAt } = await changePlan(tx, id, { planId, terms, immediate: false })
  if (from === planId) return
  const time = effectiveAt === null ? '' : `, from ${effectiveAt.toISOString()} on`
  await noteAudit(tx, {
    organizationId: id,
    type: 'organization.plan_changed',
    actor: null,
    address: null,
    target: { type: 'organization', id, name: organization.name },
    message: `from ${from} to ${planId}${time}, by its subscription`,
  })
}

async function isKnown(db: Database, planId: string): Promise<boolean> {
  const plan = await db
    .selectFrom('catalog_plans')
    .select('id')
    .where('id', '=', planId)
    .limit(1)
    .executeTakeFirst()
  return plan !== undefined
}
