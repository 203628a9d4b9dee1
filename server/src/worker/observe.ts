import type { MachineRow } from '../db/database.ts'
import { hasPendingCapture, listCapturesToKeep } from '../domain/disks/capture-work.ts'
import { guestRef } from '../domain/guests/calls.ts'
import { moveMachine } from '../domain/events/machine-states.ts'
import { findByRef, listEverything, withClaim } from '../domain/machines/work-queue.ts'
import { listDelivered } from '../domain/secrets/deliveries.ts'
import { comeToRest } from '../domain/disks/stop-snapshots.ts'
import type { EngineMachine, EngineState, MachineRef } from '../drivers/machine-driver.ts'
import { ApiError } from '../errors.ts'
import { awaitBoot } from './boot.ts'
import type { WorkerApp } from './app.ts'
import { safely } from './queue.ts'
import { stopGraceMs } from './spec.ts'

/*
 * What the engine did without being asked. A guest powers itself off, dies or reboots; a host goes
 * down. The engine's events are a hint to look at one machine; the pass over everything, at start
 * and every minute, is what makes rows and engine agree whatever was missed.
 */

/** What no row knows is removed once it is this old: the rows were read before, and it may be new. */
const orphanGraceMs = 10 * 60_000
const greetForMs = 5_000

/** Looks at one machine the engine said something about. */
export async function observeMachine(app: WorkerApp, ref: MachineRef): Promise<void> {
  const machine = await findByRef(app, ref)
  if (!machine) return
  const seen = await app.driver.inspect(ref)
  await settle(app, machine, seen)
  if (machine.state === 'running' && seen === 'running') await greet(app, machine)
}

/** Machines that may have rebooted while nobody watched, and have forgotten their secrets. */
export async function greetDelivered(app: WorkerApp): Promise<void> {
  for (const machine of await listDelivered(app)) await safely(app, () => greet(app, machine))
}

/** A machine that rebooted by itself is told again what a boot begins with. */
async function greet(app: WorkerApp, machine: MachineRow): Promise<void> {
  const signal = AbortSignal.timeout(greetForMs)
  const wasTold = await app.guests.readSecrets(guestRef(machine), { signal }).then(
    ({ told }) => told,
    () => false,
  )
  if (!wasTold) await awaitBoot(app, machine)
}

/** Compares all rows that rest with all instances and captures, and removes what no row knows. */
export async function observeAll(app: WorkerApp, now = Date.now()): Promise<void> {
  const rows = await listEverything(app)
  const instances = await app.driver.list()
  const states = new Map(instances.map(({ ref, state }) => [keyOf(ref), state]))
  for (const row of rows) await settle(app, row, states.get(keyOf(row)) ?? 'absent')

  const rowsById = new Map(rows.map((row) => [row.id, row]))
  for (const instance of instances) {
    const row = rowsById.get(instance.ref.id)
    if (row?.generation === instance.ref.generation) await thaw(app, instance)
    else if (isStray(instance, row, now)) {
      app.log.warn({ machine_id: instance.ref.id }, 'removing an instance that no row knows')
      await app.driver.destroy(instance.ref)
    }
  }
  await removeStrayCaptures(app, now)
  await app.driver.sweep()
}

/**
 * Whether nobody will ever want an instance that is not its machine as it is. A machine that is known
 * wants no generation that was given out before, but for the one that its restore is making.
 */
function isStray({ ref, createdAt }: EngineMachine, row: MachineRow | undefined, now: number) {
  if (row === undefined || ref.generation > row.last_generation) {
    return now - createdAt.getTime() >= orphanGraceMs
  }
  return row.restore_capture_id === null || ref.generation !== row.last_generation
}

async function removeStrayCaptures(app: WorkerApp, now: number): Promise<void> {
  const kept = await listCapturesToKeep(app)
  for (const { id, createdAt } of await app.driver.listCaptures()) {
    if (kept.has(id) || now - createdAt.getTime() < orphanGraceMs) continue
    app.log.warn({ capture_id: id }, 'removing a capture that no row knows')
    await app.driver.removeCapture(id)
  }
}

/** A capture that broke off for good may have left its machine frozen. */
async function thaw(app: WorkerApp, { ref, isFrozen }: EngineMachine): Promise<void> {
  if (!isFrozen) return
  // Captures are made under the machine's claim, so this one meets none.
  await withClaim(app, ref.id, async () => {
    if (await hasPendingCapture(app, ref.id)) return
    app.log.warn({ machine_id: ref.id }, 'thawing a machine that was left frozen')
    await app.driver.thaw(ref)
  })
}

/** Brings a resting row in line with what the engine has. Rows at work belong to their step. */
async function settle(app: WorkerApp, machine: MachineRow, seen: EngineState): Promise<void> {
  if (machine.restore_capture_id !== null) return
  try {
    if (machine.state === 'running' && seen !== 'running') await noteDown(app, machine, seen)
    if ((machine.state === 'stopped' || machine.state === 'error') && seen === 'running') {
      app.log.warn({ machine_id: machine.id, state: machine.state }, 'stopping a stray machine')
      await app.driver.stop(machine, { graceMs: stopGraceMs })
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
  await app.db.transaction().execute(async (tx) => {
    if (exit.kind !== 'died') {
      return comeToRest(tx, machine, {
        wanted: 'stopped',
        message: 'the machine went down by itself',
      })
    }
    const message = `the machine died: ${exit.reason}`
    await moveMachine(tx, machine, 'error', { wanted: 'stopped', message })
  })
  app.changes.publish(machine.id)
}

function keyOf(ref: MachineRef): string {
  return `${ref.id} ${ref.generation}`
}
