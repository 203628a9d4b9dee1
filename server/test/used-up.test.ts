import type { OrganizationId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { rollPeriods } from '../src/domain/accounts/periods.ts'
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
  await stopUsedUp(server.app)
  const before = await checkOf(id)
  // 3 standard-hours less 2 that were used; two machines of half a standard-hour each use one in an hour.
  const left = before!.getTime() - Date.now()
  assert.ok(Math.abs(left - 3_600_000) < 60_000, String(left))
  await stopUsedUp(server.app)
  assert.deepEqual(await checkOf(id), before)
  assert.deepEqual(await statesOf(id), ['running', 'starting'])

  await sql`update meter_intervals set started_at = started_at - interval '2 hours'
    where organization_id = ${id} and meter = 'compute'`.execute(db)
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
  assert.equal(await checkOf(id), null)
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
  await server.app.db
    .updateTable('machines')
    .set({ wanted: 'stopped' })
    .where('id', '=', machine)
    .execute()
  await sql`update machines set state = 'stopping' where id = ${machine}`.execute(db)
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
  return (await periodsOf(db, id)).at(-1)!.compute_check_at
}

async function checkNow(id: OrganizationId): Promise<void> {
  await sql`update billing_periods set compute_check_at = now()
    where organization_id = ${id} and status = 'open'`.execute(db)
}

async function setWhenUsedUp(value: string): Promise<void> {
  await sql`update catalog_plans set when_used_up = ${value} where id = 'free'`.execute(db)
}
