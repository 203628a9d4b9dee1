import type { Caller } from './caller.ts'
import { createMachineFrom, makeTemplate } from './disk-operations.ts'
import { isReady, showSet, type MachineEntry } from './ledger.ts'
import { readMarker } from './operations.ts'
import type { Rows } from './rows.ts'

/** Compares the acknowledged resources with the existing ones, in both directions. */
export async function auditLedger(callers: readonly Caller[], rows: Rows): Promise<void> {
  const { ledger } = callers[0]!
  for (const caller of callers) {
    for (const machine of caller.machines) await auditMachine(caller, machine)
  }
  for (const kind of ['snapshots', 'templates'] as const) {
    for (const { id, states } of ledger[kind].values()) {
      const { status, body } = await callers[0]!.persist('GET', `/v1/${kind}/${id}`)
      const state = status === 404 ? 'gone' : body.state
      if (states.has(state)) continue
      ledger.problems.push(`${id} should be ${showSet(states)} and is ${state}: ${body.error}`)
    }
  }
  for (const { id, name } of rows.machines) {
    if (!ledger.machines.has(id))
      ledger.problems.push(`the creation of ${id} (${name}) was never acknowledged`)
  }
}

/** Verifies the contents of some snapshots, with a machine made from each. */
export async function auditContents(caller: Caller, count: number): Promise<void> {
  const ready = [...caller.ledger.snapshots.values()].filter(isReady)
  for (let left = Math.min(count, ready.length); left > 0; left--) {
    const [snapshot] = ready.splice(caller.random.below(ready.length), 1)
    const template = await makeTemplate(caller, { snapshot_id: snapshot!.id }, snapshot!.markers)
    if (!template) continue
    const machine = await createMachineFrom(caller, template)
    if (machine) await caller.remove(machine)
  }
}

async function auditMachine(caller: Caller, machine: MachineEntry): Promise<void> {
  const { problems } = caller.ledger
  await caller.settle(machine)
  const { body } = await caller.persist('GET', `/v1/machines/${machine.id}`)
  if (!machine.names.has(body.name)) {
    problems.push(`${machine.id} should be called ${showSet(machine.names)}, not ${body.name}`)
  }
  if (machine.states.has('running')) await readMarker(caller, machine)
  // A stopped machine keeps one snapshot, that of its last stop.
  const path = `/v1/snapshots?machine_id=${machine.id}&origin=stop`
  const stops = (await caller.persist('GET', path)).body.data
  if (stops.length > 1)
    problems.push(`${machine.id} has ${stops.length} snapshots of stops instead of at most 1`)
}
