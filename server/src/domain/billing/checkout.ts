import type { OrganizationId } from '@computer/contract'
import { sql, type Selectable } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Database, Schema } from '../../db/database.ts'
import { ApiError, conflict, invalid } from '../../errors.ts'
import { PaymentError, type PlanPrice } from '../../payments/provider.ts'
import { auditedBy, noteAudit } from '../accounts/audit-events.ts'
import { getPeriod } from '../accounts/periods.ts'
import { isLower } from '../accounts/plan-changes.ts'
import { getCurrentPlan, getPlan, type PlanRow } from './catalog.ts'
import { isSubscribed, refreshSubscription } from './subscriptions.ts'

type CheckoutApp = Pick<App, 'db' | 'config' | 'log' | 'payments'>
type AccountRow = Selectable<Schema['billing_accounts']>
type Pages = { readonly successUrl: string; readonly cancelUrl: string }

/** Longer than the calls of one checkout last. It ends with the call, unless the process dies. */
const claimedFor = sql`interval '5 minutes'`

/** Refuses on a server that collects nothing. */
export function requireProvider({ payments }: Pick<App, 'payments'>): void {
  if (payments.collectsPayments) return
  throw new ApiError(
    'unsupported_operation',
    'this server has no payment provider; ask its operator to change the plan',
  )
}

/**
 * Begins the purchase of a plan, or changes the subscription to it. Returns the page to send the browser
 * to, which is the success page if nothing is left to confirm.
 *
 * An organization never gets two subscriptions: its purchases run one at a time, and each makes the page of
 * the one before it unusable. A page whose address was lost in a crash is known to nobody.
 */
export async function choosePlan(
  app: CheckoutApp,
  actor: Actor,
  { planId, ...pages }: Pages & { readonly planId: string },
): Promise<{ readonly url: string }> {
  const price = requirePrice(await getCurrentPlan(app.db, planId))
  return translateErrors(app, () =>
    withClaim(app.db, actor.organizationId, async () => {
      await ensureCustomer(app, actor)
      await refreshSubscription(app, actor.organizationId)
      const account = await readAccount(app.db, actor.organizationId)
      const url = isSubscribed(account)
        ? await changeTo(app, account, price, pages)
        : await buy(app, account, price, pages)
      await noteAudit(app.db, {
        ...auditedBy(actor),
        type: 'billing.plan_chosen',
        target: { type: 'plan', id: planId, name: price.name },
      })
      return { url }
    }),
  )
}

/** The page of the provider with the invoices, the means of payment and the subscription. */
export async function openPortal(
  app: CheckoutApp,
  actor: Actor,
  returnUrl: string,
): Promise<{ readonly url: string }> {
  const { customer_id: customerId } = await readAccount(app.db, actor.organizationId)
  if (customerId === null) {
    throw new ApiError(
      'precondition_failed',
      'the organization has bought nothing yet; choose a plan first (POST /v1/billing/checkout)',
    )
  }
  const page = await translateErrors(app, () => app.payments.portal(customerId, returnUrl))
  await noteAudit(app.db, { ...auditedBy(actor), type: 'billing.portal_opened' })
  return page
}

async function buy(
  app: CheckoutApp,
  account: AccountRow,
  price: PlanPrice,
  pages: Pages,
): Promise<string> {
  const { organization_id: organizationId, customer_id: customerId, checkout_id: last } = account
  if (last !== null && (await app.payments.endCheckout(last)) === 'paid') {
    // The subscription of an earlier page begins at this moment, or it has ended since.
    await refreshSubscription(app, organizationId)
    const now = await readAccount(app.db, organizationId)
    if (isSubscribed(now)) throw conflict('another plan was just bought; read the account again')
  }
  const order = { organizationId, customerId: customerId!, price, ...pages }
  const { id, url } = await app.payments.checkout(order)
  await app.db
    .updateTable('billing_accounts')
    .set({ checkout_id: id, checkout_started_at: sql`clock_timestamp()` })
    .where('organization_id', '=', organizationId)
    .execute()
  return url
}

async function changeTo(
  app: CheckoutApp,
  account: AccountRow,
  price: PlanPrice,
  { successUrl }: Pages,
): Promise<string> {
  const { organization_id: organizationId, subscription_id: subscriptionId, state } = account
  const { subscription_plan_id: current, next_plan_id: nextPlanId } = account
  if (state === 'past_due') {
    throw new ApiError(
      'precondition_failed',
      'a payment is due; pay it in the customer portal first (POST /v1/billing/portal)',
    )
  }
  if (current === price.planId) {
    throw conflict(`the subscription is to plan ${price.planId} already`)
  }
  const period = await getPeriod(app.db, organizationId)
  const { url } = await app.payments.changeSubscription({
    subscriptionId: subscriptionId!,
    price,
    isIncrease: await isLower(app.db, period.plan_id, price.planId),
    paid:
      nextPlanId === null
        ? null
        : toPrice(await getPlan(app.db, period.catalog_version, period.plan_id)),
  })
  if (url !== null) return url
  await refreshSubscription(app, organizationId)
  return successUrl
}

/** The organization's customer at the provider, which is stored before anything is bought. */
async function ensureCustomer(app: CheckoutApp, { organizationId, userId }: Actor): Promise<void> {
  const { customer_id: known } = await readAccount(app.db, organizationId)
  if (known !== null) return
  const { name, email } = await app.db
    .selectFrom('organizations as o')
    .innerJoin('users as u', (join) => join.on('u.id', '=', userId))
    .select(['o.name', 'u.email'])
    .where('o.id', '=', organizationId)
    .executeTakeFirstOrThrow()
  const customerId = await app.payments.openCustomer({ organizationId, name, email })
  await app.db
    .updateTable('billing_accounts')
    .set({ customer_id: customerId })
    .where('organization_id', '=', organizationId)
    .where('customer_id', 'is', null)
    .execute()
}

/** Runs one purchase of an organization at a time, without a transaction that waits for the provider. */
async function withClaim<T>(
  db: Database,
  organizationId: OrganizationId,
  work: () => Promise<T>,
): Promise<T> {
  const claim = await db
    .updateTable('billing_accounts')
    .set({
      // Whole milliseconds, which survive the way through a Date.
      checkout_claimed_until: sql`date_trunc('milliseconds', clock_timestamp()) + ${claimedFor}`,
    })
    .where('organization_id', '=', organizationId)
    .where((eb) =>
      eb.or([
        eb('checkout_claimed_until', 'is', null),
        eb('checkout_claimed_until', '<', sql<Date>`clock_timestamp()`),
      ]),
    )
    .returning('checkout_claimed_until')
    .executeTakeFirst()
  if (!claim) {
    throw new ApiError(
      'conflict',
      'another choice of a plan is under way in this organization; try again shortly',
      { retryAfter: 5 },
    )
  }
  try {
    return await work()
  } finally {
    await db
      .updateTable('billing_accounts')
      .set({ checkout_claimed_until: null })
      .where('organization_id', '=', organizationId)
      .where('checkout_claimed_until', '=', claim.checkout_claimed_until)
      .execute()
  }
}

function requirePrice(plan: PlanRow): PlanPrice {
  const refuse = (message: string) => invalid(message, [{ field: 'plan_id', message }])
  if (plan.price_cents === null) {
    throw refuse(
      `the price of plan ${plan.id} is a matter of agreement; ask the operator of this server`,
    )
  }
  if (plan.price_cents === 0) {
    throw refuse(
      `plan ${plan.id} costs nothing, so it cannot be bought; to go back to it, cancel the subscription in the customer portal (POST /v1/billing/portal)`,
    )
  }
  return toPrice(plan)
}

function toPrice(plan: PlanRow): PlanPrice {
  return {
    planId: plan.id,
    name: plan.name,
    catalogVersion: plan.catalog_version,
    cents: plan.price_cents ?? 0,
    currency: plan.currency,
  }
}

async function readAccount(db: Database, organizationId: OrganizationId): Promise<AccountRow> {
  return db
    .selectFrom('billing_accounts')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow()
}

/** The caller learns what concerns them; the log has what Stripe said. */
async function translateErrors<T>(app: Pick<App, 'log'>, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof PaymentError)) throw error
    app.log.warn({ err: error }, 'the payment provider did not do what a caller asked for')
    const { message, retryable } = error
    throw new ApiError(retryable ? 'compute_unavailable' : 'unsupported_operation', message, {
      cause: error,
      ...(retryable && { retryAfter: 5 }),
    })
  }
}
