import type { MachineId, OrganizationId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { rollPeriods } from '../src/domain/accounts/periods.ts'
import { getEntitlements } from '../src/domain/accounts/plans.ts'
import { nextSettling, settledHour } from '../src/domain/events/settling.ts'
import { readCompute } from '../src/domain/machines/compute.ts'
import { stopUsedUp } from '../src/domain/machines/used-up.ts'
import { hoursAgo, monthStart, moveOpenPeriod, periodsOf } from './billing-clock.ts'
import { collide, holdOrganization } from './forced-race.ts'
import { startTestServer } from './harness.ts'
import { givePlan } from './plans.ts'
import { mailsAreQueued, standingPeople } from './standing-people.ts'

/* What a plan without overage does once its included compute is used up. */

const server = await startTestServer({ after }, mailsAreQueued)
const { db } = server.app
const { person, run, moveTo, statesOf } = standingPeople(server)

test('allow: nothing is refused; refuse: nothing more is started, and what runs goes on', async () => {
  const { call, organizationId: id } = await usedUp('allow')
  const fork = async () => call('POST', `/v1/machines/${(await newest(id)).id}/start`)
  assert.equal((await fork()).status, 202)
  await back(id)
  await setWhenUsedUp('refuse')
  const { status, body } = await fork()
  assert.equal(status, 402)
  assert.partialDeepStrictEqual(body.error.quota, {
    limit: 'running_machines',
    current: 1,
    maximum: 0,
    plan_id: 'free',
    upgrade_url: `${server.app.config.dashboardUrl}/billing`,
  })
  assert.match(body.error.message, /^the compute that plan free includes is used up, .* before 20/)
  await stopUsedUp(server.app)
  assert.deepEqual(await statesOf(id), ['running', 'stopped'])
  // More is agreed, or the next period begins.
  await givePlan(
    db,
    { terms: { running_machines: 5, machines: 5, included_standard_hours: 9 } },
    id,
  )
  assert.equal((await fork()).status, 202)
})

test('stop: a start sets the time of the check, and all is stopped when the compute is used up', async () => {
  const { call, organizationId: id } = await usedUp('stop', { included: 3 })
  const { id: second } = await newest(id)
  assert.equal((await call('POST', `/v1/machines/${second}/start`)).status, 202)
  await sql`update meter_intervals set started_at = now() - interval '5 hours 56 minutes'
    where organization_id = ${id} and meter = 'compute'`.execute(db)
  await stopUsedUp(server.app)
  const before = await checkOf(id)
  // The machines have used all of 3 standard-hours but 2 minutes. Two of them use a standard-second in a
  // second. The worker may settle an hour before.
  const left =
    before!.getTime() - Math.min(Date.now() + 120_000, nextSettling(new Date()).getTime())
  assert.ok(Math.abs(left) < 10_000, String(left))
  await stopUsedUp(server.app)
  assert.deepEqual(await checkOf(id), before)
  assert.deepEqual(await statesOf(id), ['running', 'starting'])

  await sql`update meter_intervals set started_at = started_at - interval '2 hours'
    where organization_id = ${id} and meter = 'compute'`.execute(db)
  await sql`update billing_periods set compute_settled = '{}', compute_settled_through = null
    where organization_id = ${id}`.execute(db)
  await checkNow(id)
  await collide(db, holdOrganization(id), [check, check])
  assert.deepEqual(await statesOf(id), ['stopping', 'starting'])
  const refused = await call('POST', '/v1/machines', {})
  assert.equal(refused.status, 402)
  await moveTo(second, 'running')
  await checkNow(id)
  await check()
  assert.deepEqual(await statesOf(id), ['stopping', 'stopping'])
  const events = (await call('GET', `/v1/machines/${second}/events`)).body.data
  assert.equal(events[0].message, 'stopped because the compute that plan free includes is used up')
  for (const machine of (await call('GET', '/v1/machines')).body.data)
    await moveTo(machine.id, 'stopped')
  await checkNow(id)
  await check()
  // The worker looks again only to settle the use until now.
  assert.ok((await checkOf(id))! > new Date())
})

test('stop: the next period begins with a check, and has its own compute', async () => {
  const { organizationId: id } = await usedUp('stop')
  await moveOpenPeriod(db, id, { start: monthStart(-1), end: monthStart(0) })
  await rollPeriods(db)
  const open = (await periodsOf(db, id)).at(-1)!
  assert.deepEqual(open.compute_check_at, open.starts_at)
  await check()
  const checkAt = await checkOf(id)
  assert.ok(checkAt === null || checkAt.getTime() > Date.now() - 5_000)
})

test('refuse: every hour of use is settled, and a start counts what came after it', async () => {
  await untilNothingSettles()
  const { call, organizationId: id } = await usedUp('refuse', { included: 9 })
  const { id: second } = await newest(id)
  assert.equal((await call('POST', `/v1/machines/${second}/start`)).status, 202)
  await moveTo(second, 'running')
  const counted = await computeOf(id)
  await check()
  const hour = settledHour(new Date())
  const settled = await openPeriod(id)
  assert.deepEqual(settled.compute_settled_through, hour)
  assert.deepEqual(settled.compute_check_at, nextSettling(new Date()))
  const after = await computeOf(id)
  const seconds = Math.ceil((after.at - counted.at) / 1000)
  const grown = after.used - counted.used
  assert.ok(grown >= 0n && grown <= BigInt(seconds) * 2n * 500n, `${grown} in ${seconds} s`)
  assert.deepEqual([after.isUnsettled, after.included], [true, counted.included])

  // A second check finds nothing to settle, and another start nothing to change.
  await checkNow(id)
  await check()
  assert.deepEqual(await openPeriod(id), settled)
  await halt(second)
  assert.equal((await call('POST', `/v1/machines/${second}/start`)).status, 202)
  assert.deepEqual(await openPeriod(id), settled)

  // Once nothing runs and all is settled, there is nothing to look at until the next start.
  await moveTo(second, 'running')
  for (const machine of (await call('GET', '/v1/machines')).body.data) await halt(machine.id)
  await sql`delete from meter_intervals where organization_id = ${id} and meter = 'compute'
    and started_at >= ${hour}`.execute(db)
  await sql`update meter_intervals set ended_at = ${hour}
    where organization_id = ${id} and meter = 'compute'`.execute(db)
  const before = await computeOf(id)
  await checkNow(id)
  await check()
  assert.equal(await checkOf(id), null)
  assert.equal((await call('POST', `/v1/machines/${second}/start`)).status, 202)
  assert.ok((await checkOf(id))!.getTime() <= Date.now())

  // It is not read again.
  await sql`delete from meter_intervals where organization_id = ${id} and meter = 'compute'`.execute(
    db,
  )
  assert.equal((await computeOf(id)).used, before.used)
  assert.ok(before.used > 3_600_000n)
})

const check = () => stopUsedUp(server.app)

/** Of a plan that includes a standard-hour, a machine of size small that has run for four hours, and a stopped one. */
async function usedUp(whenUsedUp: string, { included = 1 }: { included?: number } = {}) {
  await setWhenUsedUp(whenUsedUp)
  const owner = await person()
  const { organizationId: id, call } = owner
  const terms = { running_machines: 5, machines: 5, included_standard_hours: included }
  await givePlan(db, { terms }, id)
  await moveOpenPeriod(db, id, { start: hoursAgo(9), end: hoursAgo(-24) })
  await sql`update billing_periods set has_whole_allowance = true where organization_id = ${id}`.execute(
    db,
  )
  await run(call, 2)
  await back(id)
  await sql`update meter_intervals set started_at = now() - interval '4 hours'
    where organization_id = ${id} and meter = 'compute' and ended_at is null`.execute(db)
  await sql`delete from meter_intervals
    where organization_id = ${id} and meter = 'compute' and ended_at is not null`.execute(db)
  return owner
}

/** The newest machine is stopped. */
async function back(id: OrganizationId): Promise<void> {
  const { id: machine, state } = await newest(id)
  if (state === 'starting') await moveTo(machine, 'running')
  await halt(machine)
}

async function halt(machine: MachineId): Promise<void> {
  await sql`update machines set wanted = 'stopped', state = 'stopping' where id = ${machine}`.execute(
    db,
  )
  await moveTo(machine, 'stopped')
}

async function newest(id: OrganizationId) {
  return db
    .selectFrom('machines')
    .select(['id', 'state'])
    .where('organization_id', '=', id)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
}

async function checkOf(id: OrganizationId): Promise<Date | null> {
  return (await openPeriod(id)).compute_check_at
}

async function computeOf(id: OrganizationId) {
  const entitlements = await getEntitlements(db, id)
  return { ...(await readCompute(db, entitlements)), at: entitlements.period.now.getTime() }
}

async function openPeriod(id: OrganizationId) {
  return (await periodsOf(db, id)).at(-1)!
}

async function checkNow(id: OrganizationId): Promise<void> {
  await sql`update billing_periods set compute_check_at = now()
    where organization_id = ${id} and status = 'open'`.execute(db)
}

/** Another hour is not to be settled within the next seconds. */
async function untilNothingSettles(): Promise<void> {
  const ms = nextSettling(new Date()).getTime() - Date.now()
  if (ms < 10_000) await sleep(ms)
}

async function setWhenUsedUp(value: string): Promise<void> {
  await sql`update catalog_plans set when_used_up = ${value} where id = 'free'`.execute(db)
}
