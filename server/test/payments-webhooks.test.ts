import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import type { App } from '../src/app.ts'
import { forgetOldEvents } from '../src/domain/billing/provider-events.ts'
import { refreshSubscription } from '../src/domain/billing/subscriptions.ts'
import { cancelOrphaned, rereadSubscriptions, workOnDueEvents } from '../src/worker/payments.ts'
import type { Subscription } from './fake-payments/objects.ts'
import { startPaidServer } from './paid-server.ts'
import { eventually } from './settled.ts'

// The tests do the worker's work themselves, so that nothing happens at a time of its own.
const paid = await startPaidServer({ after }, { worker: false })
const { server, db, fake, people, newOwner, accountOf } = paid
const { app } = server
fake.webhooks.hold()
const path = '/v1/billing/webhooks/stripe'

test('what the provider did not sign, or not as it came, is refused and not stored', async () => {
  await buy('pro')
  const [event] = fake.webhooks.events.slice(-1)
  const before = await countEvents()
  const { deliver } = fake.webhooks
  assert.equal(await deliver(event!, { body: JSON.stringify({ ...event, id: 'evt_other' }) }), 400)
  assert.equal(await deliver(event!, { body: `${JSON.stringify(event)}\n` }), 400)
  assert.equal(await deliver(event!, { sentAt: Math.floor(Date.now() / 1000) - 301 }), 400)
  const unsigned = await server.anonymous('POST', path, event)
  assert.deepEqual([unsigned.status, unsigned.body.error.code], [400, 'invalid_request'])
  const empty = await server.anonymous('POST', path)
  assert.equal(empty.status, 400)
  const large = await server.anonymous('POST', path, { text: 'a'.repeat(300_000) })
  assert.equal(large.status, 400)
  assert.match(large.body.error.message, /larger than 256 KiB/)
  assert.equal(await countEvents(), before)
})

test('a notification is stored once, and lost by no crash after its answer', async () => {
  const owner = await buy('pro')
  for (const event of newEvents()) {
    assert.equal(await fake.webhooks.deliver(event), 200)
    assert.equal(await fake.webhooks.deliver(event), 200)
  }
  const rows = await db
    .selectFrom('provider_events')
    .select(['type', 'applied_at', 'attempts'])
    .where('applied_at', 'is', null)
    .execute()
  assert.ok(rows.length >= 3)
  assert.equal((await accountOf(owner.organizationId)).subscription_id, null)

  // A worker that dies has claimed them; they are due again when its claims have expired.
  const broken = withPayments({ readCustomer: () => new Promise<never>(() => {}) })
  void workOnDueEvents(broken)
  await eventually(async () => {
    const claimed = await db
      .selectFrom('provider_events')
      .select('id')
      .where('applied_at', 'is', null)
      .where('attempts', '=', 1)
      .execute()
    return claimed.length === rows.length || undefined
  })
  assert.equal(await workOnDueEvents(app), 0)
  await makeDue()
  assert.equal(await workOnDueEvents(app), rows.length)
  assert.equal(await planOf(owner), 'pro')
  assert.equal(await workOnDueEvents(app), 0)
})

test('while the provider fails, notifications wait', async (t) => {
  const owner = await buy('pro')
  for (const event of newEvents()) await fake.webhooks.deliver(event)
  t.after(() => {
    fake.control.interrupt = undefined
  })
  fake.control.interrupt = () => 'before'
  assert.ok((await workOnDueEvents(app)) > 0)
  const [row] = await db
    .selectFrom('provider_events')
    .selectAll()
    .where('applied_at', 'is', null)
    .execute()
  assert.match(row!.error!, /does not respond/)
  fake.control.interrupt = undefined
  await makeDue()
  await workOnDueEvents(app)
  assert.equal(await planOf(owner), 'pro')
})

test('notifications of strangers and of other kinds are ignored', async () => {
  const [event] = fake.webhooks.events
  const stranger = {
    ...event!,
    id: 'evt_stranger',
    type: 'customer.subscription.updated',
    data: { object: { id: 'sub_stranger', customer: 'cus_stranger' } },
  } as unknown as typeof event
  assert.equal(await fake.webhooks.deliver(stranger!), 200)
  assert.equal(await workOnDueEvents(app), 1)
  assert.equal(await workOnDueEvents(app), 0)
  const before = await countEvents()
  const other = { ...stranger!, id: 'evt_other_kind', type: 'customer.created' } as typeof event
  assert.equal(await fake.webhooks.deliver(other!), 200)
  assert.equal(await countEvents(), before)
})

test('the hourly pass finds what no notification told: purchases, failures and ends', async () => {
  const owner = await buy('pro')
  const { customer_id: customerId } = await accountOf(owner.organizationId)
  const pass = async () => {
    await sql`update billing_accounts set customer_read_at = now() - interval '61 minutes'
      where organization_id = ${owner.organizationId}`.execute(db)
    await rereadSubscriptions(app)
    return accountOf(owner.organizationId)
  }
  assert.equal((await pass()).state, 'active')
  assert.equal(await planOf(owner), 'pro')
  people.setCard(customerId!, 'declined')
  people.renew(customerId!)
  // It was read less than an hour ago.
  await rereadSubscriptions(app)
  assert.equal((await accountOf(owner.organizationId)).state, 'active')
  assert.equal((await pass()).state, 'past_due')
  await people.endInPortal((await owner.call('POST', '/v1/billing/portal', {})).body.url)
  const ended = await pass()
  assert.deepEqual([ended.state, ended.next_plan_id], ['canceled', 'free'])
  // An ended subscription is not read any more.
  const reads = fake.calls.length
  await pass()
  assert.equal(fake.calls.length, reads)
})

test('each state of a subscription is a state of the account, and incomplete is none', async () => {
  const owner = await buy('pro')
  const { customer_id: customerId } = await accountOf(owner.organizationId)
  const subscription = subscriptionOf(customerId!)
  const become = async (change: Partial<Subscription>) => {
    Object.assign(subscription, change)
    await refreshSubscription(app, owner.organizationId)
    return accountOf(owner.organizationId)
  }
  assert.deepEqual((await become({ status: 'incomplete' })).subscription_id, null)
  assert.equal(await planOf(owner), 'free')
  // A first payment that was never made gave nothing, so there is nothing to end.
  assert.equal((await become({ status: 'incomplete_expired' })).state, 'active')
  for (const [status, state] of [
    ['trialing', 'trialing'],
    ['active', 'active'],
    ['past_due', 'past_due'],
    ['unpaid', 'past_due'],
    ['active', 'active'],
    ['paused', 'past_due'],
    ['canceled', 'canceled'],
  ] as const) {
    const account = await become({ status })
    assert.deepEqual([account.state, status], [state, status])
    assert.equal(await planOf(owner), 'pro')
  }
})

test('an older reading never replaces a newer one', async () => {
  const owner = await buy('pro')
  const { promise: seen, resolve: see } = Promise.withResolvers<void>()
  const { promise: goOn, resolve: proceed } = Promise.withResolvers<void>()
  const slow = withPayments({
    async readCustomer(customerId) {
      const reading = await app.payments.readCustomer(customerId)
      see()
      await goOn
      return reading
    },
  })
  const { customer_id: customerId } = await accountOf(owner.organizationId)
  const older = refreshSubscription(slow, owner.organizationId)
  await seen
  people.setCard(customerId!, 'declined')
  people.renew(customerId!)
  await refreshSubscription(app, owner.organizationId)
  assert.equal((await accountOf(owner.organizationId)).state, 'past_due')
  proceed()
  await older
  assert.equal((await accountOf(owner.organizationId)).state, 'past_due')
})

test('nobody goes on paying for an organization that was deleted', async () => {
  const owner = await buy('pro')
  await refreshSubscription(app, owner.organizationId)
  const { customer_id: customerId } = await accountOf(owner.organizationId)
  await sql`update organizations set deleted_at = now() where id = ${owner.organizationId}`.execute(
    db,
  )
  await cancelOrphaned(app)
  assert.equal(subscriptionOf(customerId!).status, 'canceled')
  assert.ok((await accountOf(owner.organizationId)).subscription_ended_at)
  const before = fake.calls.length
  await cancelOrphaned(app)
  assert.equal(fake.calls.length, before)
})

test('a customer who was deleted at the provider has canceled', async () => {
  const owner = await buy('pro')
  await refreshSubscription(app, owner.organizationId)
  const { customer_id: customerId } = await accountOf(owner.organizationId)
  fake.state.customers.delete(customerId!)
  await refreshSubscription(app, owner.organizationId)
  const { state, next_plan_id } = await accountOf(owner.organizationId)
  assert.deepEqual([state, next_plan_id], ['canceled', 'free'])
})

test('a subscription to something else changes no plan', async () => {
  const owner = await buy('pro')
  const { customer_id: customerId } = await accountOf(owner.organizationId)
  subscriptionOf(customerId!).items.data[0]!.price.lookup_key = 'somebody_elses'
  await refreshSubscription(app, owner.organizationId)
  assert.equal(await planOf(owner), 'free')
  assert.equal((await accountOf(owner.organizationId)).state, 'active')
})

test('old notifications are forgotten', async () => {
  await sql`update provider_events set received_at = now() - interval '31 days'`.execute(db)
  await forgetOldEvents(db)
  assert.equal(await countEvents(), 0)
})

test('a server without a provider takes no notifications', async (t) => {
  const { startTestServer } = await import('./harness.ts')
  const { anonymous } = await startTestServer(t, { worker: false })
  assert.equal((await anonymous('POST', path, {})).status, 404)
})

let seen = 0
/** Those since the last call. */
function newEvents() {
  const events = fake.webhooks.events.slice(seen)
  seen = fake.webhooks.events.length
  return events
}

/** An organization that bought a plan, of which nothing was told yet. */
async function buy(plan: string) {
  newEvents()
  const owner = await newOwner()
  await people.pay((await owner.checkout(plan)).body.url)
  // Prices are objects of their own in each subscription, so that a test may change one.
  const { customer_id: customerId } = await accountOf(owner.organizationId)
  const item = subscriptionOf(customerId!).items.data[0]!
  item.price = structuredClone(item.price)
  return owner
}

function subscriptionOf(customerId: string): Subscription {
  return [...fake.state.subscriptions.values()].find(({ customer }) => customer === customerId)!
}

async function planOf({ call }: Awaited<ReturnType<typeof newOwner>>): Promise<string> {
  return (await call('GET', '/v1/billing')).body.plan.id
}

async function countEvents(): Promise<number> {
  const { count } = await db
    .selectFrom('provider_events')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/** As if every claim and every delay were over. */
async function makeDue(): Promise<void> {
  await sql`update provider_events set next_attempt_at = now() where applied_at is null`.execute(db)
}

function withPayments(payments: Partial<App['payments']>): App {
  return { ...app, payments: { ...app.payments, ...payments } }
}
