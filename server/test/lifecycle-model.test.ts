import { restingStates, type MachineId, type MachineState } from '@computer/contract'
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MachineDriver } from '../src/drivers/machine-driver.ts'
import { startTestServer } from './harness.ts'
import {
  callKinds,
  isExplained,
  mayAnswer,
  type Answer,
  type CallKind,
  type Step,
} from './lifecycle-model.ts'
import { checkMeters } from './meter-checks.ts'

/*
 * Many rounds of calls at once on one machine, held against a model. COMPUTER_TEST_SEED asks for the
 * calls of an earlier run again (how they meet is the scheduler's), COMPUTER_TEST_ROUNDS for more.
 */

const seed = Number(process.env['COMPUTER_TEST_SEED'] ?? randomInt(2 ** 32))
const rounds = Number(process.env['COMPUTER_TEST_ROUNDS'] ?? 1000)
const callsAtOnce = 8
/** Machines side by side, each with its own rounds. */
const lanes = 4

const server = await startTestServer({ after }, { worker: false })
const { db } = server.app
const gates = new Map<MachineId, ReturnType<typeof makeGate>>()
server.startWorker(gated(server.app.driver))

/** The machine as the last round left it. */
type Subject = { readonly id: MachineId; readonly state: MachineState; readonly sequence: number }

test(`in ${rounds} rounds of calls at once (seed ${seed}) each move has one winner`, async (t) => {
  const tally = new Map<string, number>()
  const count = ({ kind, status }: Answer) =>
    tally.set(`${kind} ${status}`, (tally.get(`${kind} ${status}`) ?? 0) + 1)
  const play = async (lane: number) => {
    const random = randomFrom(seed + lane)
    let subject: Subject | undefined
    for (let round = lane; round < rounds; round += lanes) {
      subject ??= await newMachine(random() < 0.5)
      if (subject.state === 'running' && random() < 0.05) subject = await breakDown(subject)
      const calls = Array.from({ length: callsAtOnce }, () => pickCall(random))
      const played = await playRound(subject, calls, random() < 0.5)
      try {
        checkRound(played)
      } catch (error) {
        t.diagnostic(JSON.stringify({ round, ...played }, null, 1))
        throw error
      }
      played.answers.forEach(count)
      subject = played.next
    }
  }
  await Promise.all(Array.from({ length: lanes }, (_, lane) => play(lane)))
  t.diagnostic([...tally].sort().join('  '))
  await checkMeters(db)
})

/** While the engine is held no move can end, so that all calls meet in the states they find. */
async function playRound(before: Subject, calls: readonly CallKind[], isHeld: boolean) {
  const gate = makeGate()
  gates.set(before.id, gate)
  if (!isHeld) gate.open()
  const answers = await Promise.all(calls.map((kind) => ask(before.id, kind)))
  gate.open()
  const { steps, next } = await rest(before)
  return { before, isHeld, answers, steps, next }
}

function checkRound({ before, isHeld, answers, steps }: Awaited<ReturnType<typeof playRound>>) {
  const { state } = before
  const states = new Set<MachineState | 'gone'>([state])
  for (const { type, to } of steps) {
    if (to !== null) states.add(to as MachineState)
    if (type === 'machine.deleted') states.add('gone')
  }
  for (const answer of answers) {
    assert.ok(mayAnswer(answer, states), `${JSON.stringify(answer)} in ${[...states].join(', ')}`)
  }
  const accepted = answers.filter(({ status }) => status < 300).map(({ kind }) => kind)
  const world = { state, wanted: 'stopped' } as const
  assert.ok(isExplained(world, steps, accepted), 'the log is no walk of the accepted calls')

  const exclusive: readonly CallKind[] = state === 'running' ? ['stop', 'restart'] : ['start']
  if (!isHeld || answers.some(({ kind }) => kind === 'delete')) return
  const rivals = answers.filter(({ kind }) => exclusive.includes(kind))
  const winners = rivals.filter(({ status }) => status === 202)
  assert.equal(
    winners.length,
    Math.min(rivals.length, 1),
    'of those that exclude each other one wins',
  )
}

async function ask(id: MachineId, kind: CallKind): Promise<Answer> {
  const path = `/v1/machines/${id}`
  const { status, body } = await request()
  const { code = null, message = '' } = body.error ?? {}
  return { kind, status, code, message }

  function request() {
    switch (kind) {
      case 'delete':
        return server.call('DELETE', path)
      case 'rename':
        return server.call('PATCH', path, { metadata: { renamed: 'yes' } })
      case 'resize':
        return server.call('PATCH', path, { size: 'large' })
      default:
        return server.call('POST', `${path}/${kind}`)
    }
  }
}

/** What happened since, and the machine as it is at rest; undefined: it is gone. */
async function rest(subject: Subject): Promise<{ steps: Step[]; next: Subject | undefined }> {
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
  const steps = events.map(({ type, from_state: from, to_state: to, facts }) => ({
    type,
    from,
    to,
    isResize: to === null && facts !== null,
  }))
  const { id, state, event_sequence: sequence } = row
  return { steps, next: row.deleted_at ? undefined : { id, state, sequence } }
}

async function untilRest(id: MachineId) {
  for (;;) {
    const row = await db
      .selectFrom('machines')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    if (row.deleted_at || restingStates.includes(row.state)) return row
    await sleep(2)
  }
}

async function newMachine(start: boolean): Promise<Subject> {
  const { id } = await server.machine({ start })
  const { state, event_sequence: sequence } = await untilRest(id)
  return { id, state, sequence }
}

/** The guest dies: the only way into `error` that no call has a part in. */
async function breakDown(subject: Subject): Promise<Subject> {
  server.engine.controls.die({ id: subject.id, generation: 1 })
  for (;;) {
    const { state, event_sequence: sequence } = await untilRest(subject.id)
    if (state === 'error') return { ...subject, state, sequence }
    await sleep(2)
  }
}

function pickCall(random: () => number): CallKind {
  // A deletion ends the life of the machine, so that it comes once in several rounds.
  if (random() < 0.02) return 'delete'
  const others = callKinds.filter((kind) => kind !== 'delete')
  return others[Math.floor(random() * others.length)]!
}

/** The engine, whose moves end only while the gate of the machine is open. */
function gated(driver: MachineDriver): MachineDriver {
  const pass = async ({ id }: { readonly id: MachineId }) => gates.get(id)?.opened
  return {
    ...driver,
    create: (spec) => pass(spec).then(() => driver.create(spec)),
    start: (ref) => pass(ref).then(() => driver.start(ref)),
    stop: (ref, options) => pass(ref).then(() => driver.stop(ref, options)),
    destroy: (ref) => pass(ref).then(() => driver.destroy(ref)),
  }
}

function makeGate() {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  return { opened, open }
}

/** Mulberry32: the same numbers for the same seed, between 0 and 1. */
function randomFrom(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
