import assert from 'node:assert/strict'
import type { Caller } from './caller.ts'
import type { MachineEntry, SettledState } from './ledger.ts'

/** An operation of a caller. It ends when the machine has settled and its state has been compared. */
export type Operation = {
  readonly name: string
  readonly weight: number
  /** Makes another machine. */
  readonly adds?: true
} & (
  | { readonly needs?: undefined; run(caller: Caller): Promise<void> }
  | {
      /** The required state of the machine; `snapshot`: in any state, with a ready snapshot. */
      readonly needs: SettledState | 'any' | 'snapshot'
      run(caller: Caller, machine: MachineEntry): Promise<void>
    }
)

export const lifecycle: readonly Operation[] = [
  { name: 'create', weight: 3, adds: true, run: (caller) => create(caller, true) },
  { name: 'create stopped', weight: 1, adds: true, run: (caller) => create(caller, false) },
  { name: 'create twice', weight: 1, adds: true, run: createTwice },
  { name: 'create and delete', weight: 1, adds: true, run: createAndDelete },
  { name: 'stop', weight: 3, needs: 'running', run: (...on) => move(...on, 'stop', 'stopped') },
  { name: 'start', weight: 5, needs: 'stopped', run: (...on) => move(...on, 'start', 'running') },
  {
    name: 'restart',
    weight: 2,
    needs: 'running',
    run: (...on) => move(...on, 'restart', 'running'),
  },
  { name: 'stop by force', weight: 1, needs: 'running', run: stopByForce },
  { name: 'stop and restart', weight: 1, needs: 'running', run: stopAndRestart },
  { name: 'rename', weight: 1, needs: 'any', run: rename },
  { name: 'take the input lease', weight: 1, needs: 'running', run: takeLease },
  { name: 'write', weight: 4, needs: 'running', run: write },
  { name: 'read', weight: 1, needs: 'running', run: readMarker },
  { name: 'delete', weight: 2, needs: 'any', run: (caller, on) => caller.remove(on) },
]

const markerPath = 'marker'

async function create(caller: Caller, start: boolean): Promise<void> {
  const name = newName(caller)
  const answer = await caller.create('/v1/machines', { name, start })
  if (answer.status !== 201) return caller.unexpected('a creation', answer)
  const machine = newEntry(answer.body.id, name, start ? 'running' : 'stopped')
  caller.own(machine)
  await caller.settle(machine)
}

/** Two concurrent calls with one idempotency key must make one machine and get the same body. */
async function createTwice(caller: Caller): Promise<void> {
  const name = newName(caller)
  const key = { 'idempotency-key': `twice-${name}` }
  const call = () => caller.persist('POST', '/v1/machines', { name }, key)
  const [first, second] = await Promise.all([call(), call()])
  if (first.status !== 201) return caller.unexpected('a creation', first)
  const machine = newEntry(first.body.id, name, 'running')
  caller.own(machine)
  try {
    assert.deepEqual(second.body, first.body)
  } catch {
    caller.unexpected(`the same creation as of ${machine.id}`, second)
  }
  await caller.settle(machine)
}

/** Deletes a machine whose creation is under way. */
async function createAndDelete(caller: Caller): Promise<void> {
  const name = newName(caller)
  const creating = caller.create('/v1/machines', { name })
  // If the creation fails, there is no machine to find.
  const early = creating.then((answer) => (answer.status === 201 ? answer.body.id : undefined))
  const id = await Promise.race([findByName(caller, name), early])
  if (id === undefined) return caller.unexpected('a creation', await creating)
  const machine = newEntry(id, name, 'running')
  caller.own(machine)
  await caller.remove(machine)
  // The creation of a machine that is gone by now answers 404.
  const created = await creating
  if (created.status !== 201 && created.status !== 404) caller.unexpected('a creation', created)
}

async function findByName(caller: Caller, name: string): Promise<string> {
  for (;;) {
    const { body } = await caller.persist('GET', `/v1/machines?name=${name}`)
    if (body.data.length > 0) return body.data[0].id
  }
}

export async function move(
  caller: Caller,
  machine: MachineEntry,
  action: 'stop' | 'start' | 'restart',
  to: SettledState,
  body?: unknown,
): Promise<void> {
  machine.states = new Set([...machine.states, to])
  const answer = await caller.persist('POST', pathOf(machine, action), body)
  // A conflict after a retry means that an earlier attempt succeeded.
  const isAccepted = answer.status === 202 || (answer.status === 409 && answer.wasRetried)
  if (isAccepted) machine.states = new Set([to])
  else caller.unexpected(`${action} of ${machine.id}`, answer)
  await caller.settle(machine)
}

function stopByForce(caller: Caller, machine: MachineEntry): Promise<void> {
  return move(caller, machine, 'stop', 'stopped', { force: true })
}

/** One of two concurrent calls wins; if both are accepted, they ran one after the other. */
async function stopAndRestart(caller: Caller, machine: MachineEntry): Promise<void> {
  const [stop, restart] = await Promise.all([
    caller.persist('POST', pathOf(machine, 'stop')),
    caller.persist('POST', pathOf(machine, 'restart')),
  ])
  for (const answer of [stop, restart]) {
    if (answer.status !== 202 && answer.status !== 409) caller.unexpected('stop, restart', answer)
  }
  const isUnclear = stop.wasRetried || restart.wasRetried || stop.status === restart.status
  if (isUnclear) machine.states = new Set(['running', 'stopped'])
  else machine.states = new Set([stop.status === 202 ? 'stopped' : 'running'])
  await caller.settle(machine)
}

async function rename(caller: Caller, machine: MachineEntry): Promise<void> {
  const name = newName(caller)
  machine.names = new Set([...machine.names, name])
  const answer = await caller.persist('PATCH', pathOf(machine), { name })
  if (answer.status === 200) machine.names = new Set([name])
  else caller.unexpected(`a new name for ${machine.id}`, answer)
}

/** Releases the input lease, or lets it expire. */
async function takeLease(caller: Caller, machine: MachineEntry): Promise<void> {
  const session = await caller.create('/v1/sessions', { machine_id: machine.id })
  if (session.status !== 201) return caller.unexpected(`a session on ${machine.id}`, session)
  const body = { session_id: session.body.id, ttl_seconds: 5, force: true }
  const lease = await caller.persist('POST', pathOf(machine, 'input-lease'), body)
  if (lease.status !== 200) caller.unexpected(`the input lease of ${machine.id}`, lease)
  if (caller.random.below(2) === 0) return
  const closed = await caller.persist('DELETE', `/v1/sessions/${session.body.id}`)
  if (closed.status !== 200) caller.unexpected('the end of a session', closed)
}

export async function write(caller: Caller, machine: MachineEntry): Promise<void> {
  const content = `${caller.name}-${caller.random.fraction()}`
  machine.markers = new Set([...machine.markers, content])
  const body = { path: markerPath, content }
  const answer = await caller.persist('PUT', pathOf(machine, 'files/content'), body)
  if (answer.status === 200) machine.markers = new Set([content])
  else caller.unexpected(`a write to ${machine.id}`, answer)
}

export async function readMarker(caller: Caller, machine: MachineEntry): Promise<void> {
  const path = pathOf(machine, `files/content?path=${markerPath}`)
  const { status, body, ...answer } = await caller.persist('GET', path)
  const isAnswer = status === 200 || status === 404
  const content = status === 200 ? (body.content as string) : null
  if (isAnswer && machine.markers.has(content)) machine.markers = new Set([content])
  else caller.unexpected(`the marker of ${machine.id}`, { status, body, ...answer })
}

export function pathOf(machine: MachineEntry, rest = ''): string {
  return `/v1/machines/${machine.id}${rest && `/${rest}`}`
}

export function newEntry(
  id: string,
  name: string,
  state: SettledState,
  markers: ReadonlySet<string | null> = new Set([null]),
): MachineEntry {
  return { id, states: new Set([state]), names: new Set([name]), markers }
}

export function newName(caller: Caller): string {
  return `${caller.name}-${caller.random.below(2 ** 32).toString(36)}`
}
