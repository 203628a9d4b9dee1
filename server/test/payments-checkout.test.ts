import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { collide } from './forced-race.ts'
import { startPaidServer } from './paid-server.ts'
import { eventually } from './settled.ts'

const paid = await startPaidServer({ after })
const { db, fake, people, page, newOwner, accountOf } = paid
type Owner = Awaited<ReturnType<typeof newOwner>>

test('a plan is bought on the page of the provider, and the account has it when it was paid', async () => {
  const owner = await newOwner()
  assert.partialDeepStrictEqual(await account(owner), {
    plan: { id: 'free' },
    collects_payments: true,
    has_subscription: false,
  })
  const { status, body } = await owner.checkout('pro')
  assert.equal(status, 200)
  assert.ok(body.url.startsWith(`${fake.url}/pay/`))
  const { session } = fake.state.checkouts.get(body.url.split('/').at(-1))!
  assert.partialDeepStrictEqual(session, {
    client_reference_id: owner.organizationId,
    success_url: `${page}?chosen=pro`,
    cancel_url: page,
  })
  assert.equal((await account(owner)).plan.id, 'free')
  await people.pay(body.url)
  assert.partialDeepStrictEqual(await accountWith(owner, 'pro'), {
    state: 'active',
    has_subscription: true,
    next_plan_id: null,
  })
  const { body: audit } = await owner.call('GET', '/v1/audit-events')
  assert.partialDeepStrictEqual(
    audit.data.filter(({ type }: { type: string }) => /plan/.test(type)),
    [
      {
        type: 'organization.plan_changed',
        actor: null,
        message: 'from free to pro, by its subscription',
      },
      { type: 'billing.plan_chosen', target: { type: 'plan', id: 'pro', name: 'Pro' } },
    ],
  )
})

test('a subscription is changed, never added to: up at once, down with the end of the period', async () => {
  const owner = await subscribe('pro')
  const up = await owner.checkout('startup')
  assert.deepEqual([up.status, up.body.url], [200, `${page}?chosen=startup`])
  assert.partialDeepStrictEqual(await account(owner), {
    plan: { id: 'startup' },
    next_plan_id: null,
  })
  const down = await owner.checkout('developer')
  assert.equal(down.status, 200)
  const waiting = await account(owner)
  assert.deepEqual([waiting.plan.id, waiting.next_plan_id], ['startup', 'developer'])
  const again = await owner.checkout('developer')
  assert.deepEqual([again.status, again.body.error.code], [409, 'conflict'])
  assert.equal((await owner.checkout('startup')).status, 200)
  assert.equal((await account(owner)).next_plan_id, null)
  const { customer_id: customerId } = await accountOf(owner.organizationId)
  // One for the rest of the month, and one for the increase.
  assert.equal(people.charges(customerId!).length, 2)
  assert.equal(subscriptionsOf(customerId!).length, 1)
})

test('an increase that the bank wants to have confirmed leads to its page', async () => {
  const owner = await subscribe('pro')
  const { customer_id: customerId } = await accountOf(owner.organizationId)
  people.setCard(customerId!, 'needs_confirmation')
  const { body } = await owner.checkout('startup')
  assert.ok(body.url.startsWith(`${fake.url}/invoice/`))
  assert.equal((await account(owner)).plan.id, 'pro')
  await people.confirm(body.url)
  await accountWith(owner, 'startup')
})

test('a subscription that is canceled in the portal leads back to the plan of new organizations', async () => {
  const owner = await subscribe('pro')
  const portal = await owner.call('POST', '/v1/billing/portal', {})
  assert.equal(portal.status, 200)
  await people.cancelInPortal(portal.body.url)
  await eventually(async () => (await account(owner)).next_plan_id === 'free' || undefined)
  assert.partialDeepStrictEqual(await account(owner), { plan: { id: 'pro' }, state: 'active' })
  // Choosing the plan again keeps the subscription, without another charge.
  assert.equal((await owner.checkout('pro')).status, 200)
  assert.partialDeepStrictEqual(await account(owner), { plan: { id: 'pro' }, next_plan_id: null })
  await people.cancelInPortal(portal.body.url)
  const { customer_id: customerId } = await accountOf(owner.organizationId)
  people.renew(customerId!)
  await eventually(async () => (await account(owner)).state === 'canceled' || undefined)
  assert.partialDeepStrictEqual(await account(owner), {
    next_plan_id: 'free',
    has_subscription: false,
  })
  // It can be bought again.
  await people.pay((await owner.checkout('pro')).body.url)
  await eventually(async () => (await account(owner)).state === 'active' || undefined)
  assert.partialDeepStrictEqual(await account(owner), { plan: { id: 'pro' }, next_plan_id: null })
})

test('another purchase makes the page of the one before unusable, and one that was paid is no other', async () => {
  const owner = await newOwner()
  const first = await owner.checkout('developer')
  const second = await owner.checkout('pro')
  fake.webhooks.hold()
  await people.pay(first.body.url)
  const { customer_id: customerId } = await accountOf(owner.organizationId)
  assert.equal(subscriptionsOf(customerId!).length, 0)
  await people.pay(second.body.url)
  // No notification has come, and still it is changed instead of bought.
  const third = await owner.checkout('startup')
  assert.equal(third.body.url, `${page}?chosen=startup`)
  assert.equal(subscriptionsOf(customerId!).length, 1)
  await fake.webhooks.release()
  await accountWith(owner, 'startup')
})

test('of two purchases at the same time, one goes on', async () => {
  const owner = await newOwner()
  const hold = (tx: Parameters<Parameters<typeof collide>[1]>[0]) =>
    sql`select from billing_accounts where organization_id = ${owner.organizationId} for update`.execute(
      tx,
    )
  const answers = await collide(db, hold, [
    () => owner.checkout('pro'),
    () => owner.checkout('startup'),
  ])
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409])
  const { customer_id: customerId, checkout_claimed_until: claim } = await accountOf(
    owner.organizationId,
  )
  assert.equal(claim, null)
  const open = [...fake.state.checkouts.values()].filter(
    ({ session }) => session.customer === customerId && session.status === 'open',
  )
  assert.equal(open.length, 1)
})

test('a crash between the steps of a purchase ends in one customer and one subscription', async (t) => {
  t.after(() => {
    fake.control.interrupt = undefined
  })
  // The calls of a first purchase, each broken off before and after it.
  for (let number = 1; number < 20; number++) {
    for (const when of ['before', 'after'] as const) {
      const owner = await newOwner()
      const from = fake.calls.length
      fake.control.interrupt = (_call, count) => (count - from === number ? when : undefined)
      const broken = await owner.checkout('pro')
      fake.control.interrupt = undefined
      if (broken.status === 200) {
        assert.ok(number > 4)
        return
      }
      assert.deepEqual([broken.status, broken.body.error.code], [503, 'compute_unavailable'])
      await people.pay((await owner.checkout('pro')).body.url)
      await accountWith(owner, 'pro')
      const { customer_id: customerId } = await accountOf(owner.organizationId)
      const customers = [...fake.state.customers.values()].filter(
        ({ metadata }) => metadata['organization_id'] === owner.organizationId,
      )
      assert.deepEqual(
        customers.map(({ id }) => id),
        [customerId],
      )
      assert.equal(subscriptionsOf(customerId!).length, 1)
    }
  }
  assert.fail('a purchase has fewer calls')
})

test('plans without a price are refused with the way that there is', async () => {
  const owner = await newOwner()
  for (const [plan, pattern] of [
    ['free', /costs nothing.*cancel the subscription in the customer portal/],
    ['enterprise', /matter of agreement; ask the operator/],
  ] as const) {
    const { status, body } = await owner.checkout(plan)
    assert.equal(status, 400)
    assert.match(body.error.message, pattern)
    assert.equal(body.error.details[0].field, 'plan_id')
  }
  assert.equal((await owner.checkout('gold')).status, 404)
  const portal = await owner.call('POST', '/v1/billing/portal', {})
  assert.deepEqual([portal.status, portal.body.error.code], [412, 'precondition_failed'])
})

test('the browser is sent back to pages of this service alone', async () => {
  const owner = await newOwner()
  const bad = [
    'https://evil.example/billing',
    'javascript:alert(1)',
    'data:text/html,hello',
    '/billing',
    'http://127.0.0.1:7080.evil.example/',
    'http://127.0.0.1:7080@evil.example/',
    `${page.replace('http:', 'ftp:')}`,
  ]
  for (const url of bad) {
    for (const field of ['success_url', 'cancel_url']) {
      const { status, body } = await owner.checkout('pro', { [field]: url })
      assert.deepEqual([status, body.error.details[0].field], [400, field], url)
    }
    const { status, body } = await owner.call('POST', '/v1/billing/portal', { return_url: url })
    assert.deepEqual([status, body.error.details[0].field], [400, 'return_url'], url)
  }
})

test('a price that differs at the provider is not sold, and the operator learns why', async (t) => {
  const owner = await newOwner()
  await owner.checkout('developer')
  const price = [...fake.state.prices.values()].find(
    ({ lookup_key: key }) => key === 'computer_developer_v1',
  )!
  const cents = price.unit_amount
  t.after(() => {
    price.unit_amount = cents
  })
  price.unit_amount = 1
  const { status, body } = await owner.checkout('developer')
  assert.deepEqual([status, body.error.code], [501, 'unsupported_operation'])
  assert.match(body.error.message, /its price at the payment provider is not that of the catalog/)
})

test('while a payment is due, the plan is not changed', async () => {
  const owner = await subscribe('pro')
  const { customer_id: customerId } = await accountOf(owner.organizationId)
  people.setCard(customerId!, 'declined')
  people.renew(customerId!)
  await eventually(async () => (await account(owner)).state === 'past_due' || undefined)
  const { status, body } = await owner.checkout('startup')
  assert.deepEqual([status, body.error.code], [412, 'precondition_failed'])
})

test('a plan that an operator gave stays until the subscription changes', async () => {
  const owner = await subscribe('pro')
  await sql`update billing_periods set plan_id = 'startup'
    where organization_id = ${owner.organizationId} and status = 'open'`.execute(db)
  const { customer_id: customerId } = await accountOf(owner.organizationId)
  people.renew(customerId!)
  await fake.webhooks.settled()
  await eventually(async () => {
    const { left } = await db
      .selectFrom('provider_events')
      .select((eb) => eb.fn.countAll<number>().as('left'))
      .where('applied_at', 'is', null)
      .executeTakeFirstOrThrow()
    return left === 0 || undefined
  })
  assert.partialDeepStrictEqual(await account(owner), {
    plan: { id: 'startup' },
    next_plan_id: null,
  })
})

async function subscribe(plan: string): Promise<Owner> {
  const owner = await newOwner()
  await people.pay((await owner.checkout(plan)).body.url)
  await accountWith(owner, plan)
  return owner
}

async function account(owner: Owner) {
  return (await owner.call('GET', '/v1/billing')).body
}

/** The account, as soon as it has the plan. */
function accountWith(owner: Owner, plan: string) {
  return eventually(async () => {
    const found = await account(owner)
    return found.plan.id === plan ? found : undefined
  })
}

function subscriptionsOf(customerId: string) {
  return [...fake.state.subscriptions.values()].filter(({ customer }) => customer === customerId)
}
