import type { OrganizationId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import type { App } from '../src/app.ts'
import { rollPeriods } from '../src/domain/accounts/periods.ts'
import { claimCharge, readBill } from '../src/domain/billing/charges.ts'
import { closePeriods } from '../src/domain/billing/closing.ts'
import { refreshSubscription } from '../src/domain/billing/subscriptions.ts'
import { chargePeriod, chargePeriods } from '../src/worker/charges.ts'
import { endWait, monthStart, moveOpenPeriod, periodsOf } from './billing-clock.ts'
import { startPaidServer } from './paid-server.ts'
import { eventually } from './settled.ts'

const paid = await startPaidServer({ after }, { worker: false })
const { server, db, fake, people, newOwner, accountOf } = paid
const { app } = server
fake.webhooks.hold()

// A machine that all organizations here are charged for.
const worker = server.startWorker()
const { id: machineId } = await server.machine({ start: false })
await worker.stop()

/** Of 130 hours beyond the included, and of captured disks. */
const lines = { compute_standard_seconds: 1300, cold_storage_byte_seconds: 1 }

test('the worker charges what a period cost beside its plan, once it is final', async (t) => {
  const { organizationId, customerId } = await subscribe('developer')
  const period = await close(organizationId)
  assert.equal(period.invoice_state, 'due')
  const bill = await readBill(db, period)
  assert.deepEqual(
    bill.lines.map(({ description }) => description),
    [
      'Standard machines: 130.0 hours beyond what is included',
      'Snapshots and templates: 200.0 GiB-hours beyond what is included',
    ],
  )
  const stopping = new AbortController()
  const working = chargePeriods(app, stopping.signal)
  t.after(async () => {
    stopping.abort()
    await working
  })
  await eventually(
    async () => (await lastPeriod(organizationId)).invoice_state === 'sent' || undefined,
  )
  const [invoice, ...others] = people.invoices(customerId)
  assert.deepEqual([invoice!.status, invoice!.lines, others], ['paid', lines, []])
  const sent = await lastPeriod(organizationId)
  assert.deepEqual([sent.invoice_id, sent.invoice_next_attempt_at], [invoice!.id, null])
  // The summary says the same.
  const whole = Object.values(lines).reduce((sum, cents) => sum + cents)
  const { sum } = await db
    .selectFrom('billing_lines')
    .select(sql<string>`sum(amount_cents)`.as('sum'))
    .where('period_id', '=', period.id)
    .executeTakeFirstOrThrow()
  assert.equal(Number(sum), whole)
})

test('a kill at any call ends in one invoice with the same lines, also when keys are forgotten', async (t) => {
  t.after(() => {
    fake.control.interrupt = undefined
  })
  let cases = 0
  for (const forgets of [false, true]) {
    for (const when of ['before', 'after'] as const) {
      for (let number = 1; ; number++) {
        const { organizationId, customerId } = await subscribe('developer')
        await close(organizationId)
        const from = fake.calls.length
        fake.control.interrupt = (_call, count) => (count - from === number ? when : undefined)
        await chargeDue()
        fake.control.interrupt = undefined
        const isDone = (await lastPeriod(organizationId)).invoice_state === 'sent'
        if (forgets) fake.forgetKeys()
        await chargeDue()
        const what = `${when} call ${number}, ${forgets ? 'forgotten' : 'known'} keys`
        assert.equal((await lastPeriod(organizationId)).invoice_state, 'sent', what)
        assert.deepEqual(
          people.invoices(customerId).map(({ status, lines: found }) => [status, found]),
          [['paid', lines]],
          what,
        )
        if (isDone) break
        cases += 1
      }
    }
  }
  // Draft: list, create. Fill: read, list, two lines. Send: read, finalize.
  assert.equal(cases, 4 * 8)
})

test('a kill between what the provider did and its record ends in one invoice', async () => {
  for (const step of ['draft', 'fill', 'send'] as const) {
    for (const forgets of [false, true]) {
      const { organizationId, customerId } = await subscribe('developer')
      await close(organizationId)
      const dies = new Error('the process dies here')
      const charge = {
        ...app.payments.charge,
        [step]: async (...args: [never, never]) => {
          await app.payments.charge[step](...args)
          throw dies
        },
      }
      await chargeDue({ ...app, payments: { ...app.payments, charge } })
      assert.match((await lastPeriod(organizationId)).invoice_error!, /dies here/)
      if (forgets) fake.forgetKeys()
      await chargeDue()
      const [invoice, ...others] = people.invoices(customerId)
      assert.deepEqual([invoice!.status, invoice!.lines, others], ['paid', lines, []], step)
    }
  }
})

test('workers that charge the same period at once send one invoice', async () => {
  const { organizationId, customerId } = await subscribe('developer')
  const period = await close(organizationId)
  // A claim that expired while its worker was suspended.
  await Promise.all([1, 2, 3].map(() => chargePeriod(app, period)))
  await chargeDue()
  assert.deepEqual(
    people.invoices(customerId).map(({ status, lines: found }) => [status, found]),
    [['paid', lines]],
  )
})

test('a charge that fails is owed, and the account is past due until it is paid', async () => {
  const { organizationId, customerId } = await subscribe('developer')
  await close(organizationId)
  people.setCard(customerId, 'declined')
  await chargeDue()
  await refreshSubscription(app, organizationId)
  assert.equal((await accountOf(organizationId)).state, 'past_due')
  const [invoice] = people.invoices(customerId)
  await people.pay(`${fake.url}/invoice/${invoice!.id}`)
  await refreshSubscription(app, organizationId)
  assert.equal((await accountOf(organizationId)).state, 'active')
})

test('an amount below what cards are charged waits in the balance of the customer', async () => {
  const { organizationId, customerId } = await subscribe('developer')
  await close(organizationId, { hours: 121 })
  await chargeDue()
  const [invoice] = people.invoices(customerId)
  assert.deepEqual([invoice!.status, invoice!.lines], ['paid', { compute_standard_seconds: 10 }])
  assert.equal(fake.state.customers.get(customerId)!.balance, 10)
})

test('only what is due from somebody who agreed to pay is charged', async () => {
  // Nothing beyond what is included.
  const frugal = await subscribe('developer')
  assert.equal((await close(frugal.organizationId, { hours: 1 })).invoice_state, 'none')
  // No subscription: the operator gave the plan.
  const guest = await newOwner()
  await sql`update billing_periods set plan_id = 'developer'
    where organization_id = ${guest.organizationId}`.execute(db)
  assert.equal((await close(guest.organizationId)).invoice_state, 'none')
  // One that ended before the period began, and one that ended in it.
  for (const [endedAt, state] of [
    [monthStart(-1), 'none'],
    [new Date(monthStart(-1).getTime() + 1000), 'due'],
  ] as const) {
    const former = await subscribe('developer')
    await sql`update billing_accounts set subscription_ended_at = ${endedAt}
      where organization_id = ${former.organizationId}`.execute(db)
    assert.equal((await close(former.organizationId)).invoice_state, state)
  }
  await chargeDue()
})

async function subscribe(plan: string) {
  const owner = await newOwner()
  await people.pay((await owner.checkout(plan)).body.url)
  await refreshSubscription(app, owner.organizationId)
  const { customer_id: customerId } = await accountOf(owner.organizationId)
  return { organizationId: owner.organizationId, customerId: customerId! }
}

/** Lets last month be the only period so far, and makes it final. */
async function close(organizationId: OrganizationId, { hours = 250 } = {}) {
  const [first, ...others] = await periodsOf(db, organizationId)
  if (others.length > 0) {
    await sql`delete from billing_periods where id = ${first!.id}`.execute(db)
  }
  await moveOpenPeriod(db, organizationId, { start: monthStart(-1), end: monthStart(0) })
  await use(organizationId, { hours, size: 'standard' })
  if (hours === 250) {
    await use(organizationId, { hours: 20, meter: 'cold_storage', bytes: 10 * 2 ** 30 })
  }
  await rollPeriods(db)
  await endWait(db, organizationId)
  await closePeriods(db)
  return lastPeriod(organizationId)
}

/** What was used from the beginning of last month on. */
async function use(
  organizationId: OrganizationId,
  {
    hours,
    meter = 'compute',
    ...rest
  }: { hours: number; meter?: 'compute' | 'cold_storage'; size?: 'standard'; bytes?: number },
): Promise<void> {
  const start = monthStart(-1)
  await db
    .insertInto('meter_intervals')
    .values({
      organization_id: organizationId,
      machine_id: machineId,
      meter,
      size: rest.size ?? null,
      capture_id: null,
      bytes: rest.bytes ?? null,
      started_at: start,
      ended_at: new Date(start.getTime() + hours * 3_600_000),
    })
    .execute()
}

async function lastPeriod(organizationId: OrganizationId) {
  return (await periodsOf(db, organizationId))[0]!
}

/** Charges whatever is left, as if every claim and every delay were over. */
async function chargeDue(through: App = app): Promise<void> {
  await sql`update billing_periods set invoice_next_attempt_at = now()
    where invoice_state in ('due', 'drafted', 'filled')`.execute(db)
  for (;;) {
    const period = await claimCharge(db)
    if (!period) return
    await chargePeriod({ ...through, timing: { ...app.timing, paymentRetry: never } }, period)
  }
}

const never = { firstMs: 3_600_000, factor: 1, maxMs: 3_600_000 }
