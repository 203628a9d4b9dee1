import { restingStates, type MachineId, type MachineState } from '@computer/contract'
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../../e2e/harness/random.ts'
import { soakSeed, soakSize } from '../../scripts/soak/sizes.ts'
import type { MachineDriver } from '../src/drivers/machine-driver.ts'
import { startTestServer } from './harness.ts'
import {
  isExplained,
  mayAnswer,
  worldsOf,
  type Answer,
  type CallKind,
  type Step,
  type World,
} from './lifecycle-model.ts'
import { checkMeters } from './meter-checks.ts'
import { onDisksOf } from './disks.ts'
import { givePlan } from './plans.ts'

/*
 * Rounds of concurrent calls on one machine, checked against a model. The seed repeats the calls of an
 * earlier run; how they interleave is up to the scheduler.
 */

const seed = soakSeed(randomInt(2 ** 32))
const { rounds } = soakSize('lifecycle')
const callsAtOnce = 8
/** Machines tested side by side, each with its own share of the rounds. */
const lanes = 4

const server = await startTestServer({ after }, { worker: false })
const { db } = server.app
const gates = new Map<MachineId, ReturnType<typeof makeGate>>()
server.startWorker(gated(server.app.driver))
const limits = { machines: 1_000, running_machines: 1_000, snapshots_per_machine: 10_000 }
await givePlan(db, { terms: limits })

/** A machine in the state that the last round left, and a snapshot of it. */
type Subject = {
  readonly id: MachineId
  readonly state: MachineState
  readonly sequence: number
  readonly snapshotId: string
}

test(`of concurrent calls, one wins each transition (seed ${seed})`, async (t) => {
  const tally = new Map<string, number>()
  const play = async (lane: number) => {
    const random = createRandom(seed + lane).fraction
    let subject: Subject | undefined
    for (let round = lane; round < rounds; round += lanes) {
      subject ??= await newMachine(random() < 0.5)
      if (subject.state === 'running' && random() < 0.05) subject = await breakDown(subject)
      const result = await playRound(subject, pickCalls(random), random() < 0.5)
      try {
        checkRound(result)
      } catch (error) {
        t.diagnostic(JSON.stringify({ lane, round, ...result }, null, 1))
        throw error
      }
      for (const { kind, status } of result.answers) {
        tally.set(`${kind} ${status}`, (tally.get(`${kind} ${status}`) ?? 0) + 1)
      }
      subject = result.next
    }
  }
  await Promise.all(Array.from({ length: lanes }, (_, lane) => play(lane)))
  t.diagnostic(`${rounds} rounds: ${[...tally].sort().join('  ')}`)
  await checkMeters(db)
})

/** While the engine is held, no transition can end, so all calls find the machine in the same states. */
async function playRound(before: Subject, calls: readonly CallKind[], isHeld: boolean) {
  const gate = makeGate()
  gates.set(before.id, gate)
  if (!isHeld) gate.open()
  const answers = await Promise.all(calls.map((kind) => ask(before, kind)))
  gate.open()
  const { steps, next } = await settleRound(before)
  for (const id of forks.splice(0)) await server.call('DELETE', `/v1/machines/${id}`)
  return { before, isHeld, answers, steps, next }
}

function checkRound({ before, isHeld, answers, steps }: Awaited<ReturnType<typeof playRound>>) {
  const { state } = before
  const first: World = { state, wanted: 'stopped', isRestoring: false }
  const worlds = worldsOf(first, steps)
  for (const answer of answers) {
    const seen = worlds.map((world) => world.state).join(', ')
    assert.ok(mayAnswer(answer, worlds), `${JSON.stringify(answer)} in ${seen}`)
  }
  const accepted = answers.filter(({ status }) => status < 300).map(({ kind }) => kind)
  assert.ok(isExplained(first, steps, accepted), 'the log does not follow from the accepted calls')

  const rivals = answers.filter(({ kind }) =>
    (state === 'running' ? ['stop', 'restart', 'restore'] : ['start', 'restore']).includes(kind),
  )
  if (!isHeld || rivals.length === 0 || answers.some(({ kind }) => kind === 'delete')) return
  const winners = rivals.filter(({ status }) => status === 202)
  assert.equal(winners.length, 1, 'exactly one of the mutually exclusive calls wins')
}

async function ask({ id, snapshotId }: Subject, kind: CallKind): Promise<Answer> {
  const path = `/v1/machines/${id}`
  const { status, body } = await request()
  const { code = null, message = '' } = body.error ?? {}
  if (kind === 'fork' && status === 201) forks.push(body.id)
  return { kind, status, code, message }

  function request() {
    switch (kind) {
      case 'delete':
        return server.call('DELETE', path)
      case 'rename':
        return server.call('PATCH', path, { metadata: { renamed: 'yes' } })
      case 'resize':
        return server.call('PATCH', path, { size: 'large' })
      case 'snapshot':
        return server.call('POST', '/v1/snapshots', { machine_id: id, name: requestedName })
      case 'restore':
        return server.call('POST', `${path}/restore`, { snapshot_id: snapshotId })
      default:
        return server.call('POST', `${path}/${kind}`, kind === 'fork' ? {} : undefined)
    }
  }
}

/** The name of snapshots that a call requested, as opposed to those that the server takes. */
const requestedName = 'requested'
/** Forks of the current round, deleted at its end. */
const forks: string[] = []

/** The steps since the last round, and the machine at rest; undefined if it is gone. */
async function settleRound(
  subject: Subject,
): Promise<{ steps: Step[]; next: Subject | undefined }> {
  const row = await untilRest(subject.id)
  const events = await db
    .selectFrom('machine_events')
    .selectAll()
    .where('machine_id', '=', subject.id)
    .where('sequence', '>', subject.sequence)
    .where('sequence', '<=', row.event_sequence)
    .orderBy('sequence')
    .execute()
  const sequences = events.map(({ sequence }) => sequence - subject.sequence)
  assert.deepEqual(
    sequences,
    Array.from(sequences.keys(), (index) => index + 1),
  )
  assert.equal(row.event_sequence, subject.sequence + events.length)
  const steps = events.map(({ type, from_state: from, to_state: to, facts, message }) => ({
    type,
    from,
    to,
    isSpecial:
      type === 'snapshot.started' ? message!.endsWith(`"${requestedName}"`) : !to && facts !== null,
  }))
  const { state, event_sequence: sequence } = row
  return { steps, next: row.deleted_at ? undefined : { ...subject, state, sequence } }
}

async function untilRest(id: MachineId) {
  for (;;) {
    const row = await db
      .selectFrom('machines')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    const isAtRest = restingStates.includes(row.state) && row.restore_capture_id === null
    if (row.deleted_at || isAtRest) return row
    await sleep(2)
  }
}

async function newMachine(start: boolean): Promise<Subject> {
  const { id } = await server.machine()
  const { id: snapshotId } = await onDisksOf(server).snapshot(id)
  if (!start) await onDisksOf(server).move(id, 'stop')
  const { state, event_sequence: sequence } = await untilRest(id)
  return { id, state, sequence, snapshotId }
}

/** Makes the guest die: the only way into `error` without a call. */
async function breakDown(subject: Subject): Promise<Subject> {
  const { generation } = await untilRest(subject.id)
  server.engine.controls.die({ id: subject.id, generation })
  for (;;) {
    const { state, event_sequence: sequence } = await untilRest(subject.id)
    if (state === 'error') return { ...subject, state, sequence }
    await sleep(2)
  }
}

const callKinds: readonly CallKind[] = [
  ...(['start', 'stop', 'restart', 'restore'] as const),
  ...(['snapshot', 'fork', 'rename', 'resize'] as const),
]

/** Calls of three kinds at most, so that every pair of kinds collides often, and alone. */
function pickCalls(random: () => number): CallKind[] {
  const pick = (from: readonly CallKind[]) => from[Math.floor(random() * from.length)]!
  const few = Array.from({ length: 3 }, () => pick(callKinds))
  // A deletion ends the machine, so it is rare.
  return Array.from({ length: callsAtOnce }, () => (random() < 0.01 ? 'delete' : pick(few)))
}

/** The engine, whose transitions end only while the gate of the machine is open. */
function gated(driver: MachineDriver): MachineDriver {
  const pass = async ({ id }: { readonly id: MachineId }) => gates.get(id)?.opened
  return {
    ...driver,
    create: (spec) => pass(spec).then(() => driver.create(spec)),
    start: (ref) => pass(ref).then(() => driver.start(ref)),
    stop: (ref, options) => pass(ref).then(() => driver.stop(ref, options)),
    destroy: (ref) => pass(ref).then(() => driver.destroy(ref)),
    capture: (ref, id) => pass(ref).then(() => driver.capture(ref, id)),
  }
}

function makeGate() {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  return { opened, open }
}
