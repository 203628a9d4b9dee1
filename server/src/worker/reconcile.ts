import { restingStates, type MachineId } from '@computer/contract'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MachineRow, WarmMachineRow } from '../db/database.ts'
import { withClaim } from '../domain/claims.ts'
import { hasPendingCapture, listCapturesToKeep } from '../domain/disks/capture-work.ts'
import { enterStopped } from '../domain/disks/stop-snapshots.ts'
import { moveMachine } from '../domain/events/machine-states.ts'
import { guestRef } from '../domain/guests/calls.ts'
import { findByRef, listElsewhere, listHostMachines } from '../domain/machines/work-queue.ts'
import { listDelivered } from '../domain/secrets/deliveries.ts'
import { listWarm, makeAgain } from '../domain/machines/warm-machines.ts'
import type { EngineMachine, EngineState, MachineRef } from '../drivers/machine-driver.ts'
import { ApiError } from '../errors.ts'
import { awaitBoot } from './boot.ts'
import { logFailure } from './queue.ts'
import { stopGraceMs } from './spec.ts'
import { reconcileWarm } from './warm/pool.ts'
import type { WorkerApp } from './worker-app.ts'

/*
 * Reconciles rows with changes that the engine made on its own: a guest powers itself off, dies or
 * reboots, or the host goes down. The engine's events trigger the reconciliation of one machine. The
 * pass over all machines, at start and every minute, covers events that were missed.
 */

/** An unknown instance or capture may be newer than the rows that were read, so it gets this long. */
const orphanGraceMs = 10 * 60_000
const bootReleaseTimeoutMs = 5_000
/** Agents that are asked at once whether their machines rebooted. */
const checksAtOnce = 32

/** Reconciles a machine that the engine reported. */
export async function reconcileMachine(app: WorkerApp, ref: MachineRef): Promise<void> {
  const machine = await findByRef(app, ref)
  // The worker that moves it looks for itself.
  if (machine && !restingStates.includes(machine.state)) return
  const seen = await app.driver.inspect(ref)
  if (!machine) return seen === 'running' ? undefined : makeAgain(app, ref)
  await reconcileResting(app, machine, seen)
  if (machine.state === 'running' && seen === 'running') await ensureBooted(app, machine)
}

/** Delivers again to machines that may have rebooted while no worker ran, which loses their secrets. */
export async function redeliverSecrets(app: WorkerApp): Promise<void> {
  const machines = (await listDelivered(app)).values()
  const boots: Promise<unknown>[] = []
  const checkSome = async () => {
    for (const machine of machines) {
      if (await isReleased(app, machine)) continue
      boots.push(logFailure(app, () => awaitBoot(app, machine)))
    }
  }
  await Promise.all(Array.from({ length: checksAtOnce }, checkSome))
  await Promise.all(boots)
}

/** Repeats the delivery of secrets and name if the machine rebooted by itself. */
async function ensureBooted(app: WorkerApp, machine: MachineRow): Promise<void> {
  if (!(await isReleased(app, machine))) await awaitBoot(app, machine)
}

async function isReleased(app: WorkerApp, machine: MachineRow): Promise<boolean> {
  const signal = AbortSignal.timeout(bootReleaseTimeoutMs)
  return app.guests.readSecrets(guestRef(machine), { signal }).then(
    ({ told }) => told,
    () => false,
  )
}

/** Reconciles the rows of this host with its instances and captures, and removes those that no row knows. */
export async function reconcileAll(app: WorkerApp, now = Date.now()): Promise<void> {
  // Read first: a warm machine that is taken meanwhile is then known as either.
  const warm = await listWarm(app.db, app.config.host)
  const rows = await listHostMachines(app)
  const instances = await app.driver.list()
  const states = new Map(instances.map(({ ref, state }) => [keyOf(ref), state]))
  // Concurrently, because a guest may take its time to go down or to come back.
  const seen = (row: MachineRow) => states.get(keyOf(row)) ?? 'absent'
  await Promise.all(rows.map((row) => reconcileResting(app, row, seen(row))))

  await reconcileWarm(app, warm, instances)
  const known = new Map<MachineId, Known>(warm.map((row) => [row.id, knownWarm(row)]))
  for (const row of rows) known.set(row.id, row)
  const unknown = instances.map(({ ref }) => ref.id).filter((id) => !known.has(id))
  for (const row of await listElsewhere(app, unknown)) known.set(row.id, knownElsewhere(row))
  for (const instance of instances) {
    const row = known.get(instance.ref.id)
    if (row?.generation === instance.ref.generation) await thaw(app, instance)
    else if (isOrphan(instance, row, now)) {
      app.log.warn({ machine_id: instance.ref.id }, 'removing an instance that no row knows')
      await app.driver.destroy(instance.ref)
    }
  }
  await removeOrphanCaptures(app, now)
  await app.driver.sweep()
}

/** The columns that say which instances of a machine the engine must keep. */
type Known = Pick<MachineRow, 'generation' | 'last_generation' | 'restore_capture_id'>

/** A machine of the pool needs its current generation alone. */
function knownWarm({ generation }: WarmMachineRow): Known {
  return { generation, last_generation: generation, restore_capture_id: null }
}

/** This host was silent or draining, and another one has made the machine. */
function knownElsewhere({ last_generation }: Pick<MachineRow, 'last_generation'>): Known {
  return { generation: 0, last_generation, restore_capture_id: null }
}

/**
 * Whether an instance that is not its machine's current generation can be removed. A known machine
 * needs no earlier generation, except the one that a restore is making.
 */
function isOrphan({ ref, createdAt }: EngineMachine, row: Known | undefined, now: number) {
  if (row === undefined || ref.generation > row.last_generation) {
    return now - createdAt.getTime() >= orphanGraceMs
  }
  return row.restore_capture_id === null || ref.generation !== row.last_generation
}

async function removeOrphanCaptures(app: WorkerApp, now: number): Promise<void> {
  const old = (await app.driver.listCaptures()).filter(
    ({ createdAt }) => now - createdAt.getTime() >= orphanGraceMs,
  )
  const kept = await listCapturesToKeep(
    app,
    old.map(({ id }) => id),
  )
  for (const { id } of old) {
    if (kept.has(id)) continue
    app.log.warn({ capture_id: id }, 'removing a capture that no row knows')
    await app.driver.removeCapture(id)
  }
}

/**
 * Thaws a machine that a capture left frozen when its worker died. One of the pool has no claim of a
 * machine to take, and stays frozen.
 */
async function thaw(app: WorkerApp, { ref, isFrozen }: EngineMachine): Promise<void> {
  if (!isFrozen) return
  // Captures are made under the machine's claim, so none is under way within this one.
  await withClaim(app, ref.id, async () => {
    if (await hasPendingCapture(app, ref.id)) return
    app.log.warn({ machine_id: ref.id }, 'thawing a machine that was left frozen')
    await app.driver.thaw(ref)
  })
}

/** Brings a resting row in line with the engine. Rows in transition belong to their step. */
async function reconcileResting(
  app: WorkerApp,
  machine: MachineRow,
  seen: EngineState,
): Promise<void> {
  if (machine.restore_capture_id !== null) return
  try {
    if (machine.awaits_host) return await goOn(app, machine, seen)
    if (machine.state === 'running' && seen !== 'running') await recordExit(app, machine, seen)
    if ((machine.state === 'stopped' || machine.state === 'error') && seen === 'running') {
      const fields = { machine_id: machine.id, state: machine.state }
      app.log.warn(fields, 'stopping a machine that should not run')
      await app.driver.stop(machine, { graceMs: stopGraceMs })
    }
  } catch (error) {
    if (error instanceof ApiError && error.code === 'conflict') return
    app.log.warn(
      { err: error, machine_id: machine.id },
      'could not reconcile a machine; will retry',
    )
  }
}

/** The host is back: what ran on it runs again, unless it went down in order meanwhile. */
async function goOn(app: WorkerApp, machine: MachineRow, seen: EngineState): Promise<void> {
  const isDown = seen === 'stopped' && (await app.driver.lastExit(machine)).kind === 'poweroff'
  await app.db.transaction().execute(async (tx) => {
    if (isDown) {
      const message = 'the machine was shut down while its host was away'
      return enterStopped(tx, machine, { wanted: 'stopped', message })
    }
    const message = 'the host of the machine is back'
    await moveMachine(tx, machine, 'starting', { wanted: 'running', message })
  })
  app.changes.publish(machine.id)
}

async function recordExit(app: WorkerApp, machine: MachineRow, seen: EngineState): Promise<void> {
  const exit =
    seen === 'absent'
      ? ({ kind: 'died', reason: 'its disk is gone from the engine' } as const)
      : await app.driver.lastExit(machine)
  const isBack =
    exit.kind === 'reboot' ? await comesBack(app, machine) : await isRunning(app, machine)
  if (isBack) return
  await app.db.transaction().execute(async (tx) => {
    if (exit.kind === 'poweroff' || exit.kind === 'unknown') {
      return enterStopped(tx, machine, {
        wanted: 'stopped',
        message: 'the machine went down by itself',
      })
    }
    const message =
      exit.kind === 'reboot'
        ? 'the machine did not come back from a reboot'
        : `the machine died: ${exit.reason}`
    await moveMachine(tx, machine, 'error', { wanted: 'stopped', message })
  })
  app.changes.publish(machine.id)
}

/** Waits for the engine to start a machine that reboots. */
async function comesBack(app: WorkerApp, machine: MachineRow): Promise<boolean> {
  const { rebootTimeoutMs, bootPollMs } = app.timing
  const deadline = performance.now() + rebootTimeoutMs
  while (!(await isRunning(app, machine))) {
    if (performance.now() > deadline) return false
    await sleep(bootPollMs)
  }
  return true
}

async function isRunning(app: WorkerApp, machine: MachineRow): Promise<boolean> {
  return (await app.driver.inspect(machine)) === 'running'
}

function keyOf(ref: MachineRef): string {
  return `${ref.id} ${ref.generation}`
}
