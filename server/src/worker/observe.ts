import type { MachineRow } from '../db/database.ts'
import { moveMachine } from '../domain/machine-states.ts'
import { findByRef, listEverything } from '../domain/machine-work.ts'
import type { EngineState, MachineRef } from '../drivers/machine-driver.ts'
import { ApiError } from '../errors.ts'
import type { WorkerApp } from './machines.ts'

/*
 * What the engine did without being asked. A guest powers itself off, dies or reboots; a host goes
 * down. The engine's events are a hint to look at one machine; the pass over all machines, at start
 * and every minute, is what makes rows and engine agree whatever was missed.
 */

/** Instances that no row knows are removed once they are this old: a create may be on its way. */
const orphanGraceMs = 10 * 60_000

/** Looks at one machine the engine said something about. */
export async function observeMachine(app: WorkerApp, ref: MachineRef): Promise<void> {
  const machine = await findByRef(app, ref)
  if (machine) await settle(app, machine, await app.driver.inspect(ref))
}

/** Compares all rows that rest with all instances, and removes instances that no row knows. */
export async function observeAll(app: WorkerApp, now = Date.now()): Promise<void> {
  const rows = await listEverything(app)
  const instances = await app.driver.list()
  const states = new Map(instances.map(({ ref, state }) => [keyOf(ref), state]))
  const known = new Set(rows.map(keyOf))

  for (const row of rows) await settle(app, row, states.get(keyOf(row)) ?? 'absent')
  for (const { ref, createdAt } of instances) {
    if (known.has(keyOf(ref)) || now - createdAt.getTime() < orphanGraceMs) continue
    // The list of rows was read first, and rows are written before instances: this one has none.
    app.log.warn({ machine_id: ref.id }, 'removing an instance that no row knows')
    await app.driver.destroy(ref)
  }
  await app.driver.sweep()
}

/** Brings a resting row in line with what the engine has. Rows at work belong to their step. */
async function settle(app: WorkerApp, machine: MachineRow, seen: EngineState): Promise<void> {
  try {
    if (machine.state === 'running' && seen !== 'running') await noteDown(app, machine, seen)
    if ((machine.state === 'stopped' || machine.state === 'error') && seen === 'running') {
      app.log.warn({ machine_id: machine.id, state: machine.state }, 'stopping a stray machine')
      await app.driver.stop(machine, { graceMs: 30_000 })
    }
  } catch (error) {
    if (error instanceof ApiError && error.code === 'conflict') return
    app.log.warn({ err: error, machine_id: machine.id }, 'a machine was not settled yet')
  }
}

async function noteDown(app: WorkerApp, machine: MachineRow, seen: EngineState): Promise<void> {
  const exit =
    seen === 'absent'
      ? ({ kind: 'died', reason: 'its disk is gone from the engine' } as const)
      : await app.driver.lastExit(machine)
  // The engine may have restarted it since: what was seen must still hold.
  if ((await app.driver.inspect(machine)) === 'running') return
  const died = exit.kind === 'died'
  await app.db.transaction().execute((tx) =>
    moveMachine(tx, machine, died ? 'error' : 'stopped', {
      wanted: 'stopped',
      message: died ? `the machine died: ${exit.reason}` : 'the machine went down by itself',
    }),
  )
  app.changes.publish(machine.id)
}

function keyOf(ref: MachineRef): string {
  return `${ref.id} ${ref.generation}`
}
