import type { OrganizationId } from '@computer/contract'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { openAccount } from '../src/domain/accounts/periods.ts'
import { getCurrentPlan } from '../src/domain/billing/catalog.ts'
import { storeEvent } from '../src/domain/billing/provider-events.ts'
import { newId } from '../src/ids.ts'
import type { PlanPrice } from '../src/payments/provider.ts'
import { rereadSubscriptions, workOnDueEvents } from '../src/worker/payments.ts'
import type { SentEvent } from './fake-payments/webhooks.ts'
import { startPaidServer } from './paid-server.ts'

const paid = await startPaidServer({ after }, { worker: false })
const { server, db, fake, people, page, accountOf } = paid
const { app } = server
fake.webhooks.hold()
const [pro, startup] = [await priceOf('pro'), await priceOf('startup')]

const actions = ['buy', 'up', 'down', 'cancel', 'end', 'fail', 'recover', 'month'] as const
type Action = (typeof actions)[number]

/** What becomes of the notifications of an action: how often and in which order they come, and whether. */
const fate = fc.record({
  action: fc.constantFrom(...actions),
  order: fc.array(fc.nat(20), { maxLength: 12 }),
  isNow: fc.boolean(),
})

test('any order, repetition and loss of notifications ends in the same account', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fate, { minLength: 1, maxLength: 8 }), async (story) => {
      const [told, mixed] = [await newCustomer(), await newCustomer()]
      const waiting: SentEvent[] = []
      for (const { action, order, isNow } of [
        { action: 'buy' as const, order: [], isNow: false },
        ...story,
      ]) {
        const inOrder = await act(told, action)
        await receive(inOrder)
        waiting.push(...(await act(mixed, action)))
        const some = order.flatMap((index) => waiting[index % (waiting.length || 1)] ?? [])
        if (isNow) await receive(some)
      }
      await pass(told.organizationId)
      await pass(mixed.organizationId)
      assert.deepEqual(await outcomeOf(mixed), await outcomeOf(told))
    }),
    { numRuns: 25, seed: 15 },
  )
})

async function priceOf(planId: string): Promise<PlanPrice> {
  const { name, price_cents: cents, currency, catalog_version } = await getCurrentPlan(db, planId)
  return { planId, name, cents: cents!, currency, catalogVersion: catalog_version }
}

type Customer = { readonly organizationId: OrganizationId; readonly customerId: string }

async function newCustomer(): Promise<Customer> {
  const organizationId = newId('org')
  const organization = { id: organizationId, name: 'An organization' }
  await db.transaction().execute(async (tx) => {
    await tx.insertInto('organizations').values(organization).execute()
    await openAccount(tx, organizationId, 'free')
  })
  const customerId = await app.payments.openCustomer({ organizationId, name: 'A', email: null })
  await db
    .updateTable('billing_accounts')
    .set({ customer_id: customerId, checkout_started_at: sql`now()` })
    .where('organization_id', '=', organizationId)
    .execute()
  return { organizationId, customerId }
}

/** Does something at the provider, without a word to the server. Returns what the provider tells of it. */
async function act(
  { organizationId, customerId }: Customer,
  action: Action,
): Promise<readonly SentEvent[]> {
  const from = fake.webhooks.events.length
  const { subscription } = await app.payments.readCustomer(customerId)
  const isLive = subscription !== null && subscription.state !== 'canceled'
  const change = { subscriptionId: subscription?.id ?? '', paid: null }
  switch (action) {
    case 'buy': {
      if (isLive) break
      const urls = { successUrl: page, cancelUrl: page }
      // As a purchase through the server does, which a reading that finds it undoes.
      await sql`update billing_accounts set checkout_started_at = now()
        where organization_id = ${organizationId}`.execute(db)
      await people.pay(
        (await app.payments.checkout({ organizationId, customerId, price: pro, ...urls })).url,
      )
      break
    }
    case 'up':
      if (isLive) {
        await app.payments.changeSubscription({ ...change, price: startup, isIncrease: true })
      }
      break
    case 'down':
      if (isLive) {
        await app.payments.changeSubscription({ ...change, price: pro, isIncrease: false })
      }
      break
    case 'cancel':
      if (isLive) await people.cancelInPortal((await app.payments.portal(customerId, page)).url)
      break
    case 'end':
      if (isLive) await app.payments.cancelSubscription(subscription.id)
      break
    case 'fail':
      people.setCard(customerId, 'declined')
      people.renew(customerId)
      break
    case 'recover':
      people.setCard(customerId, 'good')
      people.renew(customerId)
      break
    case 'month':
      people.renew(customerId)
  }
  return fake.webhooks.events.slice(from)
}

/** One after the other, each worked on before the next comes. */
async function receive(events: readonly SentEvent[]): Promise<void> {
  for (const { id, type, data } of events) {
    const { customer } = data.object as { customer: string }
    await storeEvent(db, { id, type, customerId: customer })
    await workOnDueEvents(app)
  }
}

/** The hourly pass. */
async function pass(organizationId: OrganizationId): Promise<void> {
  await sql`update billing_accounts set customer_read_at = null
    where organization_id = ${organizationId}`.execute(db)
  await rereadSubscriptions(app)
}

/** The account in words that do not depend on ids. The plan is the one that it is heading for. */
async function outcomeOf({ organizationId, customerId }: Customer) {
  const account = await accountOf(organizationId)
  const { plan_id: planId } = await db
    .selectFrom('billing_periods')
    .select('plan_id')
    .where('organization_id', '=', organizationId)
    .where('status', '=', 'open')
    .executeTakeFirstOrThrow()
  const { subscription } = await app.payments.readCustomer(customerId)
  return {
    state: account.state,
    plan: account.next_plan_id ?? planId,
    isCurrent: account.subscription_id === subscription?.id,
    isOver: account.subscription_ended_at !== null,
    subscribedTo: account.subscription_plan_id,
  }
}
