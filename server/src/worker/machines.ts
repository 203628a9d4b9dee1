import type { MachineRow } from '../db/database.ts'
import { findNextCapture } from '../domain/disks/capture-work.ts'
import { getCapture } from '../domain/disks/captures.ts'
import { releaseClaim, renewClaims } from '../domain/claims.ts'
import { pushFence } from '../domain/control/leases.ts'
import { getDefaultImage } from '../domain/disks/images.ts'
import { finishCreation, giveUpFrozen } from '../domain/machines/base.ts'
import { finishDeletion } from '../domain/machines/deletion.ts'
import { moveMachine } from '../domain/events/machine-states.ts'
import { claimMachines, postponeStep, recordReady } from '../domain/machines/work-queue.ts'
import { captureStopped } from '../domain/disks/relocations.ts'
import { enterStopped } from '../domain/disks/stop-snapshots.ts'
import { DriverError, ImageMissing } from '../drivers/machine-driver.ts'
import { ApiError } from '../errors.ts'
import { guestRef } from '../domain/guests/calls.ts'
import { backoffMs } from '../timing.ts'
import { span } from '../trace/span.ts'
import { awaitBoot } from './boot.ts'
import { takeCapture } from './captures.ts'
import { reasonOf, StepFailed } from './failures.ts'
import type { Queue } from './queue.ts'
import { giveUpRestore, swapDisk } from './restores.ts'
import type { Slot } from './slots.ts'
import { specOf, stopGraceMs } from './spec.ts'
import type { WorkerApp } from './worker-app.ts'

/*
 * The machine reconciler. `advance` takes one claimed row that is not at rest, performs its next step
 * with the engine and moves the row. Its only input is the row, and every step may be repeated, so
 * recovery after a crash is the ordinary path. Pending captures come before the machine's own step:
 * whatever was requested after a capture finds it made.
 */

const maxAtOnce = 8
const maxAttempts = 6
/** A desktop that is not up after this long is polled less often. */
const desktopPatienceMs = 120_000
const slowDesktopPollMs = 10_000

export function machineQueue(app: WorkerApp): Queue<MachineRow> {
  return {
    name: 'machines',
    maxAtOnce,
    claim: (workerId, limit) => claimMachines(app, workerId, limit),
    renew: (workerId, ids) => renewClaims(app, 'machines', workerId, ids),
    release: (workerId, id) => releaseClaim(app, 'machines', workerId, id),
    work: (machine, slot) =>
      span(`step ${machine.state}`, { id: machine.id }, () => advance(app, machine, slot)),
    againAfterMs: app.timing.desktopPollMs,
  }
}

async function advance(app: WorkerApp, machine: MachineRow, slot: Slot): Promise<void> {
  // The disk to capture is on the former host until the machine has its next one.
  const capture = machine.moved_from ? undefined : await findNextCapture(app, machine.id)
  if (capture?.isDue) {
    return span('capture', {}, () => takeCapture(app, machine, capture, slot))
  }
  // The machine moved as it was claimed, and a capture from before that move still waits for a retry.
  if (capture && machine.state !== 'running') return
  try {
    await step(app, machine, slot)
  } catch (error) {
    // The row moved while the engine worked, by a deletion for example. The next claim sees it.
    if (error instanceof ApiError && error.code === 'conflict') return
    await recordFailure(app, machine, error)
  }
}

async function step(app: WorkerApp, machine: MachineRow, slot: Slot): Promise<void> {
  const { driver } = app
  if (isRestoring(machine)) return span('restore', {}, () => swapDisk(app, machine))
  switch (machine.state) {
    case 'creating':
      if (machine.is_frozen) return takeOver(app, machine, slot)
      return makeMachine(app, machine, slot)
    case 'starting':
      // A machine whose creation failed never had a disk.
      if (!machine.started_at && !machine.stopped_at) await makeDisk(app, machine)
      // If it runs already, a worker died after resizing and starting it.
      else if ((await driver.inspect(machine)) !== 'running') {
        await driver.resize(specOf(app, machine))
      }
      return startMachine(app, machine, slot)
    case 'stopping':
      if (machine.stop_by_force) await driver.stop(machine, { graceMs: 0 })
      else await slot.away(() => driver.stop(machine, { graceMs: stopGraceMs }))
      return finishStop(app, machine)
    case 'deleting':
      await driver.destroy(machine)
      // The disk that an unfinished restore began to make.
      await driver.destroy({ id: machine.id, generation: machine.last_generation })
      await finishDeletion(app, machine)
      return
    case 'running':
      return watchDesktop(app, machine, slot)
    default:
      return
  }
}

/** A restore takes precedence over every other step except deletion. */
function isRestoring(machine: MachineRow): boolean {
  return machine.restore_capture_id !== null && machine.state !== 'deleting'
}

async function makeDisk(app: WorkerApp, machine: MachineRow): Promise<void> {
  const { base_capture_id: captureId } = machine
  const base = captureId && (await getCapture(app.db, captureId))
  if (base && base.state === 'error') {
    throw new StepFailed(`machine ${base.machine_id} could not be captured: ${base.error}`)
  }
  await app.driver.create(specOf(app, machine))
}

/** Starts the machine, and waits until it has booted: its agent answers and has its identity. */
async function startMachine(app: WorkerApp, machine: MachineRow, slot: Slot): Promise<void> {
  await app.driver.start(machine)
  // Callers that wait for the machine open their channel to the guest while it boots.
  app.changes.publish(machine.id, 'boots')
  const hasBooted = await slot.away(() => span('boot', {}, () => awaitBoot(app, machine)))
  // The desktop is still starting, and a question about it would delay the agent's first commands.
  if (hasBooted) await finish(app, machine, 'running', app.timing.desktopPollMs)
}

/** Wakes a machine that was taken from the pool (warm/), or makes it anew if it does not answer. */
async function takeOver(app: WorkerApp, machine: MachineRow, slot: Slot): Promise<void> {
  try {
    // It answers as soon as it is thawed, which is before its limits have been compared.
    const boot = () => span('boot', {}, () => awaitBoot(app, machine, app.timing.wakeTimeoutMs))
    const booting = slot.away(boot)
    const [woken] = await Promise.allSettled([app.driver.wake(specOf(app, machine)), booting])
    if (woken.status === 'rejected') throw woken.reason
    if (!(await booting)) return
  } catch (error) {
    if (error instanceof DriverError && error.ofEngine) throw error
    const fields = { err: error, machine_id: machine.id }
    app.log.warn(fields, 'a machine of the pool could not be woken; making it anew')
    const anew = await giveUpFrozen(app, machine)
    if (!anew) return
    await app.driver.destroy(machine)
    return makeMachine(app, anew, slot)
  }
  await finish(app, machine, 'running')
}

async function makeMachine(app: WorkerApp, machine: MachineRow, slot: Slot): Promise<void> {
  await makeDisk(app, machine)
  if (machine.wanted === 'stopped') return finish(app, machine, 'stopped')
  return startMachine(app, machine, slot)
}

async function finish(
  app: WorkerApp,
  machine: MachineRow,
  to: 'running' | 'stopped',
  nextStepInMs = 0,
): Promise<void> {
  await app.db.transaction().execute((tx) => finishCreation(tx, machine, to, nextStepInMs))
  app.changes.publish(machine.id)
}

async function finishStop(app: WorkerApp, machine: MachineRow): Promise<void> {
  const isRelocating = await app.db.transaction().execute(async (tx) => {
    if (await captureStopped(tx, machine)) return true
    if (machine.wanted === 'stopped') {
      await enterStopped(tx, machine)
      return false
    }
    // A restart passes through `stopped` within one transaction, so no reader sees it at rest.
    await moveMachine(tx, await moveMachine(tx, machine, 'stopped'), 'starting')
    return false
  })
  app.changes.publish(machine.id)
  if (isRelocating) await postponeStep(app, machine, app.timing.relocationPollMs)
}

async function move(
  app: WorkerApp,
  machine: MachineRow,
  to: 'running' | 'error',
  change: Parameters<typeof moveMachine>[3] = {},
): Promise<void> {
  await app.db.transaction().execute((tx) => moveMachine(tx, machine, to, change))
  app.changes.publish(machine.id)
}

/** Records when the desktop of a running machine answers (event machine.ready). */
async function watchDesktop(app: WorkerApp, machine: MachineRow, slot: Slot): Promise<void> {
  if (await slot.away(() => askDesktop(app, machine))) return recordReady(app, machine)
  const runningForMs = Date.now() - (machine.started_at?.getTime() ?? 0)
  const isSlow = runningForMs > desktopPatienceMs
  await postponeStep(app, machine, isSlow ? slowDesktopPollMs : app.timing.desktopPollMs)
}

/** Whether the desktop answers. It then knows the fence as well. */
async function askDesktop(app: WorkerApp, machine: MachineRow): Promise<boolean> {
  // Captures wait for this step, so the call has a short timeout.
  const signal = AbortSignal.timeout(app.timing.desktopTimeoutMs)
  const isUp = await app.guests.display(guestRef(machine), { signal }).then(
    ({ up }) => up,
    () => false,
  )
  if (isUp) await pushFence(app, machine)
  return isUp
}

/** Records why a step failed and schedules a retry, or gives up; the disk is kept. */
async function recordFailure(app: WorkerApp, machine: MachineRow, error: unknown): Promise<void> {
  const fields = { err: error, machine_id: machine.id, state: machine.state }
  app.log.warn({ ...fields, attempts: machine.attempts }, 'a machine step failed')
  const isFinal = error instanceof StepFailed || (error instanceof DriverError && !error.retryable)
  if (error instanceof ImageMissing && (await isImageComing(app, machine))) {
    return postponeStep(app, machine, app.timing.enginePollMs)
  }
  // An outage of the engine does not count as an attempt, however long it lasts.
  if (error instanceof DriverError && error.ofEngine) {
    return postponeStep(app, machine, app.timing.enginePollMs)
  }
  const isOver = isFinal || machine.attempts + 1 >= maxAttempts
  const delayMs = backoffMs(app.timing.stepRetry, machine.attempts)
  const retry = () => postponeStep(app, machine, delayMs, error)
  // A deletion is never given up, and a missing desktop does not fail its machine.
  if (!isOver || machine.state === 'deleting' || machine.state === 'running') {
    return retry()
  }
  try {
    if (isRestoring(machine)) return await giveUpRestore(app, machine, error)
    if (machine.state === 'stopping' && (await app.driver.inspect(machine)) === 'running') {
      return await move(app, machine, 'running', {
        wanted: 'running',
        message: 'the machine could not be stopped and runs on',
      })
    }
    const message = `the machine could not be ${participles[machine.state]}${reasonOf(error)}`
    await move(app, machine, 'error', { message })
  } catch (cause) {
    app.log.warn(
      { err: cause, machine_id: machine.id },
      'could not record a failed step; will retry',
    )
    await retry()
  }
}

/** A new server accepts creations while the engine still unpacks the default image. */
async function isImageComing(app: WorkerApp, machine: MachineRow): Promise<boolean> {
  return (await getDefaultImage(app.db))?.id === machine.image_id
}

const participles: Partial<Record<MachineRow['state'], string>> = {
  creating: 'created',
  starting: 'started',
  stopping: 'stopped',
}
