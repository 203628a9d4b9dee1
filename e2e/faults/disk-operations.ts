import { setTimeout as delay } from 'node:timers/promises'
import type { Answer } from '../harness/api.ts'
import type { Caller } from './caller.ts'
import { isReady, type MachineEntry, type SnapshotEntry, type TemplateEntry } from './ledger.ts'
import { move, newEntry, newName, pathOf, readMarker, write, type Operation } from './operations.ts'

/** Operations on disks. A machine's marker file identifies the contents of its disk. */
export const disks: readonly Operation[] = [
  { name: 'snapshot', weight: 3, needs: 'running', run: snapshotAndSettle },
  { name: 'snapshot and write', weight: 1, needs: 'running', run: snapshotAndWrite },
  { name: 'snapshot and stop', weight: 1, needs: 'running', run: snapshotAndStop },
  { name: 'snapshot and delete', weight: 1, needs: 'running', run: snapshotAndDelete },
  { name: 'delete the newest snapshot', weight: 3, run: deleteNewest },
  { name: 'restore', weight: 3, needs: 'snapshot', run: restore },
  { name: 'fork', weight: 2, needs: 'running', adds: true, run: forkNow },
  { name: 'fork a snapshot', weight: 2, needs: 'snapshot', adds: true, run: forkSnapshot },
  { name: 'template of a machine', weight: 1, needs: 'running', run: templateOfMachine },
  { name: 'template of a snapshot', weight: 1, needs: 'snapshot', run: templateOfSnapshot },
  { name: 'create from a template', weight: 2, adds: true, run: createFromTemplate },
  { name: 'delete a template', weight: 1, run: deleteTemplate },
]

const settleBoundMs = 180_000

async function takeSnapshot(
  caller: Caller,
  machine: MachineEntry,
): Promise<SnapshotEntry | undefined> {
  const name = newName(caller)
  const answer = await caller.create('/v1/snapshots', { machine_id: machine.id, name })
  if (answer.status !== 202) {
    caller.unexpected(`a snapshot of ${machine.id}`, answer)
    return undefined
  }
  return noteSnapshot(caller, answer.body.id, machine, machine.markers)
}

function noteSnapshot(
  caller: Caller,
  id: string,
  machine: MachineEntry,
  markers: ReadonlySet<string | null>,
): SnapshotEntry {
  const entry: SnapshotEntry = {
    id,
    machineId: machine.id,
    states: new Set(['ready', 'error']),
    markers: new Set(markers),
  }
  caller.ledger.snapshots.set(id, entry)
  return entry
}

async function snapshotAndSettle(caller: Caller, machine: MachineEntry): Promise<void> {
  const entry = await takeSnapshot(caller, machine)
  if (entry) await settleSnapshot(caller, entry)
}

/** A write after the answer may or may not be in the snapshot. */
async function snapshotAndWrite(caller: Caller, machine: MachineEntry): Promise<void> {
  const before = machine.markers
  const entry = await takeSnapshot(caller, machine)
  await write(caller, machine)
  if (!entry) return
  entry.markers = new Set([...before, ...machine.markers])
  await settleSnapshot(caller, entry)
}

async function snapshotAndStop(caller: Caller, machine: MachineEntry): Promise<void> {
  const entry = await takeSnapshot(caller, machine)
  await move(caller, machine, 'stop', 'stopped')
  if (entry) await settleSnapshot(caller, entry)
}

/** A snapshot outlives its machine. */
async function snapshotAndDelete(caller: Caller, machine: MachineEntry): Promise<void> {
  const entry = await takeSnapshot(caller, machine)
  await caller.remove(machine)
  if (entry) await settleSnapshot(caller, entry)
}

/** The machine may be gone, and the snapshot may come from a stop or a restore. */
async function deleteNewest(caller: Caller): Promise<void> {
  if (caller.everOwned.length === 0) return
  const { id } = caller.random.pick(caller.everOwned)
  const list = await caller.persist('GET', `/v1/snapshots?machine_id=${id}&limit=1`)
  const [newest] = list.body.data
  if (newest?.state !== 'ready') return
  const entry = caller.ledger.snapshots.get(newest.id)
  if (entry) entry.states = new Set(['gone'])
  const answer = await caller.persist('DELETE', `/v1/snapshots/${newest.id}`)
  const isAccepted = answer.status === 202 || (answer.status === 404 && answer.wasRetried)
  if (!isAccepted) caller.unexpected(`the deletion of ${newest.id}`, answer)
}

async function restore(caller: Caller, machine: MachineEntry): Promise<void> {
  const snapshot = pickSnapshot(caller, machine)
  const known = new Set((await listKept(caller, machine)).map(({ id }) => id))
  const body = { snapshot_id: snapshot.id }
  const answer = await caller.persist('POST', pathOf(machine, 'restore'), body)
  const listNew = async () => (await listKept(caller, machine)).filter(({ id }) => !known.has(id))
  // An input lease may not have expired yet. Any other conflict after a retry means that an earlier attempt succeeded.
  const isHeld = answer.status === 409 && /input lease/.test(messageOf(answer))
  if (isHeld && (await listNew()).length === 0) return
  if (answer.status !== 202 && !(answer.status === 409 && answer.wasRetried)) {
    return caller.unexpected(`a restore of ${machine.id}`, answer)
  }
  const before = machine.markers
  const outcome = await waitForRestore(caller, machine)
  if (outcome === 'machine.restore_completed') machine.markers = new Set(snapshot.markers)
  else caller.ledger.counts.failures.push(`${machine.id}: ${outcome}`)
  await caller.settle(machine)
  // If an earlier attempt restored as well, the second restore captured the disk of the first.
  const kept = await listNew()
  if (kept.length === 0) caller.ledger.problems.push(`${machine.id} has no Before restore`)
  for (const { id } of kept) {
    await settleSnapshot(
      caller,
      noteSnapshot(caller, id, machine, new Set([...before, ...snapshot.markers])),
    )
  }
  if (machine.states.has('running')) await readMarker(caller, machine)
}

async function listKept(caller: Caller, machine: MachineEntry): Promise<{ id: string }[]> {
  const path = `/v1/snapshots?machine_id=${machine.id}&limit=100`
  const { body } = await caller.persist('GET', path)
  return body.data.filter(({ name }: { name: string }) => name === 'Before restore')
}

/** The restore of a stopped machine shows only in the events. */
async function waitForRestore(caller: Caller, machine: MachineEntry): Promise<string> {
  const deadline = Date.now() + settleBoundMs
  for (;;) {
    const { body } = await caller.persist('GET', pathOf(machine, 'events?limit=100'))
    const last = body.data.find(({ type }: { type: string }) => type.startsWith('machine.restore_'))
    if (last?.type === 'machine.restore_completed') return last.type
    if (last?.type === 'machine.restore_failed') return `${last.type} ${last.message}`
    if (Date.now() > deadline) return `no end of the restore within ${settleBoundMs} ms`
    await delay(100)
  }
}

async function forkNow(caller: Caller, machine: MachineEntry): Promise<void> {
  await fork(caller, machine, {}, machine.markers)
}

async function forkSnapshot(caller: Caller, machine: MachineEntry): Promise<void> {
  const snapshot = pickSnapshot(caller, machine)
  await fork(caller, machine, { snapshot_id: snapshot.id }, snapshot.markers)
}

async function fork(
  caller: Caller,
  machine: MachineEntry,
  from: { readonly snapshot_id?: string },
  markers: ReadonlySet<string | null>,
): Promise<void> {
  const name = newName(caller)
  const answer = await caller.create(pathOf(machine, 'fork'), { name, ...from })
  if (answer.status !== 201) return caller.unexpected(`a fork of ${machine.id}`, answer)
  await adopt(caller, newEntry(answer.body.id, name, 'running', markers))
}

async function adopt(caller: Caller, machine: MachineEntry): Promise<void> {
  caller.own(machine)
  await caller.settle(machine)
  if (machine.states.has('running')) await readMarker(caller, machine)
}

async function templateOfMachine(caller: Caller, machine: MachineEntry): Promise<void> {
  await makeTemplate(caller, { machine_id: machine.id }, machine.markers)
}

async function templateOfSnapshot(caller: Caller, machine: MachineEntry): Promise<void> {
  const { id, markers } = pickSnapshot(caller, machine)
  await makeTemplate(caller, { snapshot_id: id }, markers)
}

/** Resolves to the template if it is ready. */
export async function makeTemplate(
  caller: Caller,
  from: { readonly machine_id: string } | { readonly snapshot_id: string },
  markers: ReadonlySet<string | null>,
): Promise<TemplateEntry | undefined> {
  const answer = await caller.create('/v1/templates', { name: newName(caller), ...from })
  if (answer.status !== 201 && answer.status !== 202) {
    caller.unexpected('a template', answer)
    return undefined
  }
  const entry: TemplateEntry = { id: answer.body.id, states: new Set(), markers }
  const state = await caller.waitForState(`/v1/templates/${entry.id}`, ['ready', 'error'])
  if (state !== 'ready' && state !== 'error') caller.ledger.problems.push(`${entry.id} is ${state}`)
  else entry.states = new Set([state])
  caller.ledger.templates.set(entry.id, entry)
  return isReady(entry) ? entry : undefined
}

async function createFromTemplate(caller: Caller): Promise<void> {
  const template = pickTemplate(caller)
  if (template) await createMachineFrom(caller, template)
}

export async function createMachineFrom(
  caller: Caller,
  { id, markers }: TemplateEntry,
): Promise<MachineEntry | undefined> {
  const name = newName(caller)
  const answer = await caller.create('/v1/machines', { name, template: id })
  // Another caller may have deleted the template meanwhile.
  if (answer.status === 404) return undefined
  if (answer.status !== 201) {
    caller.unexpected(`a machine from ${id}`, answer)
    return undefined
  }
  const machine = newEntry(answer.body.id, name, 'running', markers)
  await adopt(caller, machine)
  return machine
}

async function deleteTemplate(caller: Caller): Promise<void> {
  const entry = pickTemplate(caller)
  if (!entry) return
  entry.states = new Set(['gone'])
  const answer = await caller.persist('DELETE', `/v1/templates/${entry.id}`)
  const isAccepted = answer.status === 204 || (answer.status === 404 && answer.wasRetried)
  if (!isAccepted) caller.unexpected(`the deletion of ${entry.id}`, answer)
}

/** An acknowledged capture must end ready, or in error with an event. */
async function settleSnapshot(caller: Caller, entry: SnapshotEntry): Promise<void> {
  const state = await caller.waitForState(`/v1/snapshots/${entry.id}`, ['ready', 'error'])
  if (state !== 'ready' && state !== 'error') {
    caller.ledger.problems.push(`${entry.id} is ${state}`)
    return
  }
  entry.states = new Set([state])
  if (state === 'ready') return
  const { body } = await caller.persist('GET', `/v1/snapshots/${entry.id}`)
  caller.ledger.counts.failures.push(`${entry.id}: ${body.error}`)
  const events = `/v1/machines/${entry.machineId}/events?limit=100`
  const log = await caller.persist('GET', events)
  const hasEvent = log.body.data?.some(
    ({ type, message }: { type: string; message: string | null }) =>
      type === 'snapshot.failed' && message?.includes(entry.id),
  )
  // The log of a machine that is gone cannot be read.
  if (log.status === 200 && !hasEvent)
    caller.ledger.problems.push(`${entry.id} failed without an event`)
}

function pickSnapshot(caller: Caller, machine: MachineEntry): SnapshotEntry {
  return caller.random.pick(caller.snapshotsOf(machine))
}

/** Callers share all templates. */
function pickTemplate({ ledger, random }: Caller): TemplateEntry | undefined {
  const ready = [...ledger.templates.values()].filter(isReady)
  return ready.length > 0 ? random.pick(ready) : undefined
}

function messageOf(answer: Answer): string {
  return answer.body.error.message
}
