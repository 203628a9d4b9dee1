import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { billingCases } from '../../scripts/soak/properties.ts'
import {
  endPeriod,
  findOpenPeriod,
  lockAccount,
  openPeriod,
  rollPeriods,
} from '../src/domain/accounts/periods.ts'
import { changePlan } from '../src/domain/accounts/plan-changes.ts'
import { adjustBill } from '../src/domain/billing/adjustments.ts'
import { addCatalogVersion, readNewestCatalog } from '../src/domain/billing/catalog-versions.ts'
import { closePeriods } from '../src/domain/billing/closing.ts'
import { setLabelKeys } from '../src/domain/billing/labels.ts'
import { verifyPeriods } from '../src/domain/billing/verification.ts'
import { moveMachine } from '../src/domain/events/machine-states.ts'
import { lockAnyMachine } from '../src/domain/find-machine.ts'
import { addEgress, compactEgress } from '../src/domain/previews/egress.ts'
import { endWait, hoursAgo, monthStart, moveOpenPeriod, periodsOf } from './billing-clock.ts'
import { startTestServer } from './harness.ts'
import { givePlan } from './plans.ts'
import { eventually } from './settled.ts'

/*
 * Final stays final. The clock is as if it had been set back: the period that is final ends in two hours.
 * After each of many random steps its summary is the same, byte for byte, and it still follows from the log,
 * the bytes sent and the catalog: so nothing that came later fell into it either.
 */

const server = await startTestServer({ after })
const { db } = server.app
const actor = await server.user('owner', 'stranger')
const { organizationId } = actor
const call = server.as(actor)
const end = hoursAgo(-2)
const operator = { type: 'operator', id: 'operator', name: 'root' } as const

const first = await useSomething()
const machineId = (await call('POST', '/v1/machines', { start: false })).body.id as MachineId
await server.stopWorkers()
const path = `/v1/billing/usage-summary?period=${monthStart(-1).toISOString()}`
const final = await call('GET', path)
assert.deepEqual([final.body.status, final.body.period_end], ['final', end.toISOString()])
assert.ok(final.body.total_cents > 0)

const label = fc.constantFrom('a', 'b', 'c')
const planId = fc.constantFrom('free', 'developer', 'pro', 'startup')
const flushId = fc.nat({ max: 30 }).map(String)
const step = fc.oneof(
  fc.record({ kind: fc.constant('relabel' as const), label }),
  fc.record({ kind: fc.constant('resize' as const), size: fc.constantFrom('standard', 'large') }),
  fc.record({ kind: fc.constant('start' as const), isRunning: fc.boolean() }),
  // Most repeat one that was counted before, the first ones in the final period itself.
  fc.record({ kind: fc.constant('flush' as const), flushId, bytes: fc.integer({ min: 1 }) }),
  fc.record({ kind: fc.constant('catalog' as const), cents: fc.nat({ max: 1_000 }) }),
  fc.record({
    kind: fc.constant('plan' as const),
    planId,
    hours: fc.nat({ max: 500 }),
    immediate: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('label keys' as const), keys: fc.uniqueArray(label) }),
  fc.record({ kind: fc.constant('adjust' as const), cents: fc.integer({ min: 1, max: 99 }) }),
  fc.record({ kind: fc.constant('work' as const) }),
  fc.record({ kind: fc.constant('end' as const) }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

test('nothing that happens later changes a final period', async () => {
  let steps = 0
  const runs = billingCases()
  const property = fc.asyncProperty(step, async (one) => {
    await take(one)
    assert.deepEqual((await call('GET', path)).bytes, final.bytes)
    if (steps++ % Math.ceil(runs.numRuns / 20) === 0) await verify()
  })
  await fc.assert(property, { ...runs, endOnFailure: true })
  await verify()
  // They happened: at a time after its end, in whichever period that is.
  const later = await db
    .selectFrom('meter_intervals')
    .select('id')
    .where('machine_id', '=', machineId)
    .where('started_at', '>=', end)
    .execute()
  assert.notDeepEqual(later, [])
})

test('not even if what keeps later facts out of it is lost', async () => {
  const account = db.updateTable('billing_accounts').where('organization_id', '=', organizationId)
  await account.set({ closed_through: monthStart(-1) }).execute()
  await sql`update machine_events set occurred_at = ${monthStart(-1)} where machine_id = ${machineId}`.execute(
    db,
  )
  for (const one of fc.sample(step, { seed: 1, numRuns: 100 })) await take(one)
  await addEgress(db, '99', [{ machineId, organizationId, bytes: 1 }])
  assert.deepEqual((await call('GET', path)).bytes, final.bytes)
  assert.notDeepEqual((await verifyPeriods(db, organizationId)).differences, [])
})

async function verify(): Promise<void> {
  const { differences } = await verifyPeriods(db, organizationId)
  assert.deepEqual(
    differences.filter(({ periodStart }) => periodStart < end),
    [],
  )
}

async function take(one: Step): Promise<void> {
  switch (one.kind) {
    case 'relabel':
      return patch({ metadata: { a: one.label } })
    case 'resize':
      return patch({ size: one.size })
    case 'start':
      return move(one.isRunning)
    case 'flush':
      return flush(one.flushId, one.bytes)
    case 'catalog': {
      const file = await readNewestCatalog(db)
      const prices = file.prices.map((price) => ({ ...price, cents: one.cents }))
      return void (await addCatalogVersion(server.app, { ...file, prices }, null))
    }
    case 'plan': {
      const terms = { included_standard_hours: one.hours, machines: 9 }
      const change = { planId: one.planId, terms, immediate: one.immediate }
      return void (await db.transaction().execute((tx) => changePlan(tx, organizationId, change)))
    }
    case 'label keys':
      return void (await setLabelKeys(server.app, actor, one.keys))
    case 'adjust':
      return void (await adjustBill(server.app, operator, organizationId, {
        cents: one.cents,
        reason: 'x',
      }))
    case 'work':
      await rollPeriods(db)
      await closePeriods(db)
      return compactEgress(db)
    case 'end':
      return endOpenPeriod()
  }
}

/** A change that is refused in the machine's state changes nothing. */
async function patch(change: object): Promise<void> {
  const { status, body } = await call('PATCH', `/v1/machines/${machineId}`, change)
  assert.ok(status < 500, JSON.stringify(body))
}

/** As the gateway counts bytes of both machines, one of which is gone. */
function flush(id: string, bytes: number): Promise<void> {
  const counts = [first, machineId].map((of) => ({ machineId: of, organizationId, bytes }))
  return addEgress(db, id, counts)
}

/** As the worker moves the machine. */
async function move(isRunning: boolean): Promise<void> {
  await db.transaction().execute(async (tx) => {
    let machine = await lockAnyMachine(tx, machineId)
    if ((machine.state === 'running') === isRunning) return
    const states = isRunning
      ? (['starting', 'running'] as const)
      : (['stopping', 'stopped'] as const)
    for (const state of states) machine = await moveMachine(tx, machine, state)
  })
}

/** An hour after its start, as long as there are few. */
async function endOpenPeriod(): Promise<void> {
  if ((await periodsOf(db, organizationId)).length > 8) return
  const { starts_at: start } = await db
    .transaction()
    .execute((tx) => findOpenPeriod(tx, organizationId))
  await endPeriodAt(new Date(start.getTime() + 3_600_000))
}

/** As rolling does when that time has come, which is ahead of the clock here. */
async function endPeriodAt(start: Date): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await lockAccount(tx, organizationId)
    const period = await findOpenPeriod(tx, organizationId)
    await endPeriod(tx, period, start)
    const { plan_id: plan, terms } = period
    await openPeriod(tx, { organizationId, planId: plan, terms, start })
  })
  await endWait(db, organizationId)
  await closePeriods(db)
}

/** A machine that ran, had a snapshot and is gone, over twenty days of a period that becomes final. */
async function useSomething(): Promise<MachineId> {
  const { id } = (await call('POST', '/v1/machines', {})).body
  const snapshot = (await call('POST', '/v1/snapshots', { machine_id: id })).body
  const isReady = async () =>
    (await call('GET', `/v1/snapshots/${snapshot.id}`)).body.state === 'ready'
  await eventually(async () => (await isReady()) || undefined)
  for (let count = 0; count < 10; count++)
    await addEgress(db, String(count), [{ machineId: id, organizationId, bytes: 2 ** 32 }])
  await call('DELETE', `/v1/snapshots/${snapshot.id}`)
  await call('DELETE', `/v1/machines/${id}`)
  await eventually(
    async () => (await call('GET', `/v1/machines/${id}`)).status === 404 || undefined,
  )
  await stretch()
  await moveOpenPeriod(db, organizationId, { start: monthStart(-1), end: monthStart(1) })
  const terms = { included_standard_hours: 0, included_hot_storage_bytes: 0 }
  await givePlan(db, { planId: 'pro', terms }, organizationId)
  await endPeriodAt(end)
  return id
}

async function stretch(): Promise<void> {
  const { from, until } = await db
    .selectFrom('machine_events')
    .select([sql<Date>`min(occurred_at)`.as('from'), sql<Date>`max(occurred_at)`.as('until')])
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow()
  const factor = (20 * 86_400_000) / (until.getTime() - from.getTime())
  const of = sql`where organization_id = ${organizationId}`
  const moved = (column: string) => sql`${monthStart(-1)}::timestamptz
    + date_trunc('milliseconds', (${sql.ref(column)} - ${from}::timestamptz) * ${factor}::float8)`
  await sql`update machine_events set occurred_at = ${moved('occurred_at')} ${of}`.execute(db)
  await sql`update meter_intervals
    set started_at = ${moved('started_at')}, ended_at = ${moved('ended_at')} ${of}`.execute(db)
  await sql`update egress_counts set counted_at = ${monthStart(-1)} ${of}`.execute(db)
}
