import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { onDisksOf } from './disks.ts'
import { startTestServer } from './harness.ts'
import { givePlan } from './plans.ts'
import { eventually, settled } from './settled.ts'
import { accountOf, noticesOf, passDays, passHours, setStanding } from './standing-clock.ts'

/* The worker does by itself what time brings. */

const server = await startTestServer({ after }, { env: { COMPUTER_SIGNUP_PLAN: 'free' } })
const { db } = server.app
const disks = onDisksOf(server)
const { id: home } = await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow()

test('a plan ends, and the newest machine is shut down with its disk and a snapshot kept', async () => {
  const oldest = await server.machine()
  const newest = await server.machine()
  await setStanding(db, home, { state: 'canceled', planEndsAt: new Date() })
  await eventually(async () => (await accountOf(db, home)).state === 'active' || undefined)
  await passHours(db, home, 1.1)
  await eventually(async () => (await noticesOf(db, home)).includes('machines_stop') || undefined)
  await passDays(db, home, 1)
  await settled(server, newest.id, 'stopped')
  assert.deepEqual(
    (await disks.events(newest.id, /machine\.(updated|stopped)/, 'message')).at(-2),
    'stopped because with the plan free, 1 machine may run at the same time',
  )
  assert.equal((await disks.row(oldest.id)).state, 'running')
  assert.equal((await disks.generationsOf(newest.id)).length, 1)
  assert.equal((await disks.snapshotsOf(newest.id)).length, 1)
  const refused = await server.call('POST', `/v1/machines/${newest.id}/start`)
  assert.equal(refused.body.error.quota.maximum, 1)
  await server.call('DELETE', `/v1/machines/${oldest.id}`)
  await server.call('DELETE', `/v1/machines/${newest.id}`)
})

test('the included compute is used up, and the machine is shut down', async () => {
  await sql`update catalog_plans set when_used_up = 'stop' where id = 'free'`.execute(db)
  await givePlan(db, { planId: 'free', terms: { machines: 5, included_standard_hours: 1 } })
  await sql`update billing_periods set starts_at = date_trunc('hour', now()) - interval '30 hours',
    has_whole_allowance = true where status = 'open'`.execute(db)
  await sql`delete from meter_intervals`.execute(db)
  const { id } = await server.machine()
  // All but two seconds of two hours of size small have passed.
  await sql`update meter_intervals set started_at = now() - interval '1:59:58'
    where machine_id = ${id} and meter = 'compute'`.execute(db)
  await sql`update billing_periods set compute_check_at = now() where status = 'open'`.execute(db)
  await settled(server, id, 'stopped')
  const { rows } = await sql<{ late: number }>`
    select extract(epoch from occurred_at - (select started_at + interval '2 hours'
      from meter_intervals where machine_id = ${id} and meter = 'compute'))::float as late
    from machine_events where machine_id = ${id} and to_state = 'stopping'`.execute(db)
  assert.ok(rows[0]!.late >= -1, `${rows[0]!.late} s`)
})
