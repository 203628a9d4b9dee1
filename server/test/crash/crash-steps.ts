import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { reconcileAll } from '../../src/worker/reconcile.ts'
import { startTestServer, type Answer, type TestServer } from '../harness.ts'
import { checkCleanSlate, untilRest } from './clean-slate.ts'
import type { Ending, Fate, Point } from './life.ts'
import { startMortalWorker, type MortalWorker } from './mortal-worker.ts'

/*
 * Crashes, one at every step. An operation is run once, and all that its worker does is noted: each
 * call to the engine or to a guest, each row it writes. Then it is run again for every way in which
 * one of these can go wrong. The worker is gone for good, or stands still until its claims have run
 * out; the next one has to bring everything to where it should be, and to leave nothing behind.
 */

/** What is asked for, and what must come of it whatever happens to workers meanwhile. */
export type Operation<Subject> = {
  readonly name: string
  /** Makes what it is done to. */
  prepare(server: TestServer): Promise<Subject>
  ask(server: TestServer, subject: Subject): Promise<Answer>
  /** That all that was promised is there, and once. */
  expect(server: TestServer, subject: Subject, answer: Answer): Promise<void>
  /** What it cannot be done without, so that the test would miss it. */
  readonly calls: readonly string[]
}

/** Cases side by side, each with a server of its own: they wait more than they compute. */
const concurrency = 3

export function testCrashes<Subject>(operation: Operation<Subject>): void {
  test(`${operation.name}: a worker that dies at any step`, { concurrency }, async (t) => {
    const points = await run(operation, null)
    for (const call of operation.calls) {
      assert.ok(
        points.some(({ name }) => name === call),
        `there is no ${call}`,
      )
    }
    const fates = points.flatMap(fatesAt)
    await Promise.all(
      fates.map((fate) => t.test(describe(fate), async () => void (await run(operation, fate)))),
    )
    t.diagnostic(`${points.length} steps, ${fates.length} crashes and repetitions`)
  })
}

function fatesAt(at: Point): Fate[] {
  const endings: Ending[] = ['before']
  // A row that is not written is one whose step was answered and not recorded.
  if (!at.name.startsWith('write.')) endings.push('after', 'stalled', 'twice')
  if (at.name === 'driver.capture') endings.push('amid')
  return endings.map((ending) => ({ at, ending }))
}

function describe({ at, ending }: Fate): string {
  const what = `${at.name} ${at.nth}`
  switch (ending) {
    case 'amid':
      return `dies in the middle of ${what}`
    case 'stalled':
      return `stalls before ${what}, and comes back`
    case 'twice':
      return `does ${what} twice`
    default:
      return `dies ${ending} ${what}`
  }
}

/** Runs the operation to its end, and answers the steps of the worker that it was given to. */
async function run<Subject>(
  operation: Operation<Subject>,
  fate: Fate | null,
): Promise<readonly Point[]> {
  const stage = freeStages.pop() ?? (await setStage())
  try {
    const points = await play(stage, operation, fate)
    await clear(stage)
    freeStages.push(stage)
    return points
  } catch (error) {
    // The next case gets another stage: this one may have leftovers.
    await stage.worker.stop()
    throw error
  }
}

async function play<Subject>(
  stage: Stage,
  operation: Operation<Subject>,
  fate: Fate | null,
): Promise<readonly Point[]> {
  const { server, worker } = stage
  const subject = await operation.prepare(server)
  await untilRest(server.app)

  worker.life.arm(fate)
  const asked = operation.ask(server, subject)
  if (fate) await within(worker.life.met(), `the worker never came to ${describe(fate)}`)
  const isAlone = fate === null || fate.ending === 'twice'
  const predecessor = isAlone ? undefined : (await succeed(stage, fate)).predecessor
  const answer = await asked
  assert.ok(answer.status < 300, JSON.stringify(answer.body))
  await untilRest(server.app)
  const points = worker.life.disarm()
  await operation.expect(server, subject, answer)
  await checkCleanSlate(server.app)

  if (fate?.ending === 'stalled') {
    worker.life.resume()
    await predecessor
    // What it still did to the engine is found by the pass over everything.
    await reconcileAll(server.app, Date.now() + 3_600_000)
    await untilRest(server.app)
    await checkCleanSlate(server.app)
  }
  return points
}

/** A server and its current worker. Cases that pass leave it to the next one. */
type Stage = { readonly server: TestServer; worker: MortalWorker }
const freeStages: Stage[] = []
const ends: (() => void | Promise<void>)[] = []
after(async () => {
  for (const end of ends.toReversed()) await end()
})

async function setStage(): Promise<Stage> {
  const server = await startTestServer({ after: (end) => ends.push(end) }, { worker: false })
  const stage = { server, worker: startMortalWorker(server) }
  ends.push(() => stage.worker.stop())
  return stage
}

/** The worker does nothing more and its claims have expired: another takes over. */
async function succeed(
  stage: Stage,
  { ending }: Fate,
): Promise<{ readonly predecessor: Promise<void> }> {
  const { db } = stage.server.app
  const predecessor = stage.worker.stop()
  // Claims that a dead worker had asked for may still be granted before it ends.
  if (ending !== 'stalled') await predecessor
  for (const table of ['machines', 'captures'] as const) {
    await db
      .updateTable(table)
      .set({ claimed_until: sql<Date>`clock_timestamp() - interval '1 second'` })
      .where('claimed_until', 'is not', null)
      .execute()
  }
  stage.worker = startMortalWorker(stage.server)
  return { predecessor }
}

/** Deletes everything there is: nothing is left but history, which the next case does not need. */
async function clear({ server }: Stage): Promise<void> {
  const { app, call } = server
  const list = async (path: string) => (await call('GET', `${path}?limit=100`)).body.data
  for (const { id } of await list('/v1/templates')) await call('DELETE', `/v1/templates/${id}`)
  for (const { id } of await list('/v1/snapshots')) await call('DELETE', `/v1/snapshots/${id}`)
  for (const { id } of await list('/v1/machines')) await call('DELETE', `/v1/machines/${id}`)
  await untilRest(app)
  await checkCleanSlate(app)
  assert.deepEqual(await app.driver.list(), [])
  assert.deepEqual(await app.driver.listCaptures(), [])
  for (const table of ['machine_events', 'meter_intervals', 'sessions', 'machines'] as const) {
    await app.db.deleteFrom(table).execute()
  }
}

async function within(condition: Promise<void>, otherwise: string): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(otherwise)), 20_000)
  try {
    await Promise.race([condition, late])
  } finally {
    clearTimeout(timer)
  }
}
