import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { reconcileAll } from '../../src/worker/reconcile.ts'
import { startTestServer, type Answer, type TestServer } from '../harness.ts'
import { checkCleanSlate, listUnknown, untilRest } from './clean-slate.ts'
import type { Ending, Fate, Point } from './life.ts'
import { startMortalWorker, type MortalWorker } from './mortal-worker.ts'

/*
 * A crash at every step. An operation runs once, and every call of its worker to the engine or a guest
 * and every row it writes is recorded. Then the operation runs again for each way in which one of these
 * can fail. The worker dies, or stalls until its claims have expired; the next worker must complete the
 * operation and leave nothing behind.
 */

/** A call, and the result that it must have no matter what happens to workers meanwhile. */
export type Operation<Subject> = {
  readonly name: string
  /** Machines that the server keeps warm; the same for every operation of a file. */
  readonly warmMachines?: number
  /** Creates the resources that the operation needs. */
  prepare(server: TestServer): Promise<Subject>
  ask(server: TestServer, subject: Subject): Promise<Answer>
  /** Fails unless the promised result exists exactly once. */
  expect(server: TestServer, subject: Subject, answer: Answer): Promise<void>
  /** Steps that the operation cannot do without. The test fails if one was not recorded. */
  readonly calls: readonly string[]
}

/** Cases run concurrently, each with a server of its own, because they mostly wait. */
const concurrency = 3

/** Each case has the time limit of a test. All cases of a kind together have ten minutes. */
const kindOptions = { concurrency, timeout: 600_000 }

const kinds: Readonly<Record<string, (fate: Fate) => boolean>> = {
  'dies before a call': ({ ending, at }) => ending === 'before' && !isWrite(at),
  'dies before a write': ({ ending, at }) => ending === 'before' && isWrite(at),
  'dies after or in a call': ({ ending }) => ending === 'after' || ending === 'amid',
  'stalls before a call': ({ ending }) => ending === 'stalled',
  'makes a call twice': ({ ending }) => ending === 'twice',
}

export function testCrashes<Subject>(operation: Operation<Subject>): void {
  let recording: Promise<readonly Point[]> | undefined
  for (const [kind, isOfKind] of Object.entries(kinds)) {
    test(`${operation.name}: a worker that ${kind}, at any step`, kindOptions, async (t) => {
      const points = await (recording ??= run(operation, null))
      for (const call of operation.calls) {
        assert.ok(
          points.some(({ name }) => name === call),
          `there is no ${call}`,
        )
      }
      const fates = points.flatMap(fatesAt).filter(isOfKind)
      assert.ok(fates.length > 0)
      await Promise.all(
        fates.map((fate) => t.test(describe(fate), async () => void (await run(operation, fate)))),
      )
      t.diagnostic(`${fates.length} of ${points.length} steps`)
    })
  }
}

function isWrite({ name }: Point): boolean {
  return name.startsWith('write.')
}

function fatesAt(at: Point): Fate[] {
  const endings: Ending[] = ['before']
  // A crash before the write of a row is the same as one after the call that the row records.
  if (!isWrite(at)) endings.push('after', 'stalled', 'twice')
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

/** Runs the operation to its end. Returns the steps of the worker that began it. */
async function run<Subject>(
  operation: Operation<Subject>,
  fate: Fate | null,
): Promise<readonly Point[]> {
  const stage = freeStages.pop() ?? (await setStage(operation))
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
  const predecessor = isAlone ? undefined : (await replaceWorker(stage, fate)).predecessor
  const answer = await asked
  assert.ok(answer.status < 300, JSON.stringify(answer.body))
  await untilRest(server.app)
  const points = worker.life.disarm()
  await operation.expect(server, subject, answer)
  await checkCleanSlate(server.app)

  if (fate?.ending === 'stalled') {
    worker.life.resume()
    await predecessor
    // A full reconciliation finds its late effects on the engine.
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

async function setStage({ warmMachines = 0 }: { warmMachines?: number }): Promise<Stage> {
  const server = await startTestServer(
    { after: (end) => ends.push(end) },
    { worker: false, env: { COMPUTER_WARM_MACHINES: String(warmMachines) } },
  )
  const stage = { server, worker: startMortalWorker(server) }
  ends.push(() => stage.worker.stop())
  return stage
}

/** The worker stops and its claims expire, so that another takes over. */
async function replaceWorker(
  stage: Stage,
  { ending }: Fate,
): Promise<{ readonly predecessor: Promise<void> }> {
  const { db } = stage.server.app
  const predecessor = stage.worker.stop()
  // Claims that a dead worker had requested may still be granted before it ends.
  if (ending !== 'stalled') await predecessor
  for (const table of ['machines', 'captures', 'warm_machines'] as const) {
    await db
      .updateTable(table)
      .set({ claimed_until: sql<Date>`clock_timestamp() - interval '1 second'` })
      .where('claimed_until', 'is not', null)
      .execute()
  }
  stage.worker = startMortalWorker(stage.server)
  return { predecessor }
}

/** Deletes everything, then the history that remains, which the next case does not need. */
async function clear({ server }: Stage): Promise<void> {
  const { app, call } = server
  const list = async (path: string) => (await call('GET', `${path}?limit=100`)).body.data
  for (const { id } of await list('/v1/templates')) await call('DELETE', `/v1/templates/${id}`)
  for (const { id } of await list('/v1/snapshots')) await call('DELETE', `/v1/snapshots/${id}`)
  for (const { id } of await list('/v1/machines')) await call('DELETE', `/v1/machines/${id}`)
  await untilRest(app)
  await checkCleanSlate(app)
  assert.deepEqual(await listUnknown(app), [])
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
