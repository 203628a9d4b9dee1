import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { createRandom, type Random } from '../../../e2e/harness/random.ts'
import { billingSeed } from '../../../scripts/soak/properties.ts'
import { soakSize } from '../../../scripts/soak/sizes.ts'
import { openDatabase } from '../../src/db/database.ts'
import { rollPeriods } from '../../src/domain/accounts/periods.ts'
import { closePeriods } from '../../src/domain/billing/closing.ts'
import { verifyPeriods } from '../../src/domain/billing/verification.ts'
import { endWait, monthStart, moveOpenPeriod } from '../billing-clock.ts'
import { untilRest } from '../crash/clean-slate.ts'
import { startMortalWorker } from '../crash/mortal-worker.ts'
import { startTestServer } from '../harness.ts'
import { checkMeters } from '../meter-checks.ts'
import { givePlan } from '../plans.ts'

/*
 * Machines live while workers die at steps that chance chooses, one after the other, and connections of the
 * server and its workers to the database are cut in the middle of their transactions. Afterwards the log has
 * to give what is billed. The seed repeats the steps and the deaths, but not how they interleave.
 */

const lives = Math.ceil(soakSize('billing').cases / 4)
const lanes = 10
const stepsPerLife = 6

const server = await startTestServer({ after }, { worker: false })
const { db } = server.app
const cutter = openDatabase(server.databaseUrl, { log: server.app.log, maxConnections: 1 })
after(() => cutter.destroy())
const { organizationId } = await server.user('member')
await givePlan(db, {
  terms: { machines: 10_000, running_machines: 10_000, snapshots_per_machine: 10_000 },
})

const name = `what is billed follows from the log after kills at any point (seed ${billingSeed})`
test(name, async (t) => {
  const random = createRandom(billingSeed)
  const living = Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      const own = random.fork(`lane ${lane}`)
      for (let number = lane; number < lives; number += lanes) await live(own)
    }),
  )
  const deaths = await killWorkers(living, random.fork('deaths'))
  t.diagnostic(`${lives} lives, ${deaths} dead workers, ${cuts} cut connections`)
  assert.ok(deaths > lives / 20 && cuts > 0)

  server.startWorker()
  await untilRest(server.app)
  await server.stopWorkers()
  await checkMeters(db)
  const open = await verifyPeriods(db, organizationId, { openUntil: lastSecond() })
  assert.deepEqual(open, { periods: 1, differences: [] })

  // The same in periods that have ended, with enough of use in each.
  await stretch()
  await moveOpenPeriod(db, organizationId, { start: monthStart(-3), end: monthStart(-2) })
  await rollPeriods(db)
  await endWait(db, organizationId)
  await closePeriods(db)
  const verified = await verifyPeriods(db, organizationId, { openUntil: lastSecond() })
  assert.deepEqual(verified, { periods: 4, differences: [] })
  const { count } = await db
    .selectFrom('billing_lines')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('quantity', '>', '0')
    .executeTakeFirstOrThrow()
  assert.ok(count >= 6)
})

/** Starts a worker after the other, each of which dies at a step. Returns how many died. */
async function killWorkers(living: Promise<unknown>, random: Random): Promise<number> {
  let deaths = 0
  let isOver = false
  const ended = living.finally(() => (isOver = true))
  while (!isOver) {
    const worker = startMortalWorker(server)
    const at = { name: random.pick(mortalSteps), nth: 1 + random.below(6) }
    worker.life.arm({ at, ending: random.pick(['before', 'after'] as const) })
    try {
      await Promise.race([worker.life.met().then(() => (deaths += 1)), ended])
    } finally {
      await worker.stop()
    }
  }
  await ended
  return deaths
}

/** The steps of workers on machines and captures. A write has no effect of its own before its commit. */
const mortalSteps = [
  'driver.create',
  'driver.start',
  'driver.stop',
  'driver.destroy',
  'driver.capture',
  'write.machines',
  'write.machine_events',
  'write.meter_intervals',
  'write.captures',
  'write.snapshots',
]

async function live(random: Random): Promise<void> {
  const { body } = await server.call('POST', '/v1/machines', { start: random.fraction() < 0.7 })
  // The connection of the call was cut.
  if (body.id === undefined) return
  for (let step = 0; step < stepsPerLife; step++) {
    await take(body.id, random)
    if (random.fraction() < 0.15) await cutConnection()
  }
  if (random.fraction() < 0.7) await server.call('DELETE', `/v1/machines/${body.id}`)
}

/** A step that is possible, or is refused. */
async function take(id: MachineId, random: Random): Promise<void> {
  const path = `/v1/machines/${id}`
  const step = random.pick([
    'start',
    'start',
    'stop',
    'force',
    'restart',
    'resize',
    'snapshot',
    'drop',
  ])
  switch (step) {
    case 'force':
      await server.call('POST', `${path}/stop?wait=5`, { force: true })
      return
    case 'resize':
      await server.call('PATCH', path, { size: random.pick(['standard', 'large']) })
      return
    case 'snapshot':
      await server.call('POST', '/v1/snapshots', { machine_id: id })
      return
    case 'drop': {
      const { body } = await server.call('GET', `/v1/snapshots?machine_id=${id}&state=ready`)
      const newest = body.data?.[0]
      if (newest) await server.call('DELETE', `/v1/snapshots/${newest.id}`)
      return
    }
    default:
      await server.call('POST', `${path}/${step}?wait=5`)
  }
}

let cuts = 0
/** Ends a connection that is in the middle of a transaction, if there is one, but not its own. */
async function cutConnection(): Promise<void> {
  const { rows } = await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'
      and backend_type = 'client backend'
    order by random() limit 1`.execute(cutter)
  cuts += rows.length
}

/** The second that has just begun. */
function lastSecond(): Date {
  return new Date(Math.floor(Date.now() / 1_000) * 1_000)
}

/** Spreads all of it over the last three months, each millisecond of them to as much time. */
async function stretch(): Promise<void> {
  const { rows } = await sql<{ first: Date; last: Date }>`
    select min(occurred_at) as first, max(occurred_at) as last from machine_events`.execute(db)
  const { first, last } = rows[0]!
  const begin = monthStart(-3)
  const factor = Math.floor((Date.now() - begin.getTime()) / (last.getTime() - first.getTime() + 1))
  const moved = (column: string) =>
    sql`${begin}::timestamptz + (${sql.ref(column)} - ${first}::timestamptz) * ${factor}::int`
  await sql`update machine_events set occurred_at = ${moved('occurred_at')}`.execute(db)
  await sql`update meter_intervals
    set started_at = ${moved('started_at')}, ended_at = ${moved('ended_at')}`.execute(db)
}
