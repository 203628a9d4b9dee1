import type { MachineRow } from '../db/database.ts'
import { findNextCapture } from '../domain/disks/capture-work.ts'
import { getCapture } from '../domain/disks/captures.ts'
import { releaseClaim, renewClaims } from '../domain/claims.ts'
import { announce } from '../domain/control/leases.ts'
import { getDefaultImage } from '../domain/disks/images.ts'
import { moveMade } from '../domain/machines/base.ts'
import { finishDeletion } from '../domain/machines/deletion.ts'
import { moveMachine } from '../domain/events/machine-states.ts'
import { claimMachines, noteReady, postpone } from '../domain/machines/work-queue.ts'
import { comeToRest } from '../domain/disks/stop-snapshots.ts'
import { DriverError, ImageMissing } from '../drivers/machine-driver.ts'
import { ApiError } from '../errors.ts'
import { guestRef } from '../domain/guests/calls.ts'
import type { WorkerApp } from './app.ts'
import { awaitBoot } from './boot.ts'
import { takeCapture } from './captures.ts'
import { reasonOf, StepFailed } from './failures.ts'
import type { Queue } from './queue.ts'
import { giveUpRestore, swapDisk } from './restores.ts'
import { specOf, stopGraceMs } from './spec.ts'

/*
 * The machine reconciler. `advance` looks at one claimed row that is not at rest, does the next
 * thing with the engine and moves the row. It takes no input but the row, and every step may run
 * again, so the way after a crash is the ordinary way. What is to be captured comes first: whatever
 * was asked for after it finds it made.
 */

const maxAtOnce = 8
const maxAttempts = 6
const desktopPollMs = 250
const desktopTimeoutMs = 2_000
const imagePollMs = 1_000
/** A machine waits for an engine that is away, however long. */
const enginePollMs = 1_000
/** A desktop that has not come up in that time is asked for less often. */
const desktopPatienceMs = 120_000

export function machineQueue(app: WorkerApp): Queue<MachineRow> {
  return {
    maxAtOnce,
    claim: (workerId, limit) => claimMachines(app, workerId, limit),
    renew: (workerId, ids) => renewClaims(app, 'machines', workerId, ids),
    release: (workerId, id) => releaseClaim(app, 'machines', workerId, id),
    work: (machine) => advance(app, machine),
    // A desktop coming up is looked at again that soon.
    againAfterMs: desktopPollMs,
  }
}

async function advance(app: WorkerApp, machine: MachineRow): Promise<void> {
  const capture = await findNextCapture(app, machine.id)
  if (capture?.isDue) return takeCapture(app, machine, capture)
  // It moved on as it was claimed, and what is to be captured before that is yet to be tried again.
  if (capture && machine.state !== 'running') return
  try {
    await step(app, machine)
  } catch (error) {
    // The row moved on while the engine worked: a deletion, say. The next claim sees it.
    if (error instanceof ApiError && error.code === 'conflict') return
    await recordFailure(app, machine, error)
  }
}

async function step(app: WorkerApp, machine: MachineRow): Promise<void> {
  const { driver } = app
  if (isRestoring(machine)) return swapDisk(app, machine)
  switch (machine.state) {
    case 'creating':
      await makeDisk(app, machine)
      if (machine.wanted === 'stopped') return arrive(app, machine, 'stopped')
      await driver.start(machine)
      return run(app, machine)
    case 'starting':
      // A machine whose creation failed never had a disk to lose.
      if (!machine.started_at && !machine.stopped_at) await makeDisk(app, machine)
      // It runs if a worker died after starting it, and was resized before that.
      else if ((await driver.inspect(machine)) !== 'running') {
        await driver.resize(specOf(app, machine))
      }
      await driver.start(machine)
      return run(app, machine)
    case 'stopping':
      await driver.stop(machine, { graceMs: machine.stop_by_force ? 0 : stopGraceMs })
      return stopped(app, machine)
    case 'deleting':
      await driver.destroy(machine)
      // What a restore had begun to make.
      await driver.destroy({ id: machine.id, generation: machine.last_generation })
      await finishDeletion(app, machine)
      return
    case 'running':
      return watchDesktop(app, machine)
    default:
      return
  }
}

/** Until it is deleted, a machine that is restored does nothing else. */
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

/** Waits until the machine has booted: its agent answers and knows who it is. */
async function run(app: WorkerApp, machine: MachineRow): Promise<void> {
  // Whoever waits for the machine opens its own channel while the guest boots.
  app.changes.publish(machine.id)
  if (await awaitBoot(app, machine)) await arrive(app, machine, 'running')
}

async function arrive(
  app: WorkerApp,
  machine: MachineRow,
  at: 'running' | 'stopped',
): Promise<void> {
  await app.db.transaction().execute((tx) => moveMade(tx, machine, at))
  app.changes.publish(machine.id)
}

async function stopped(app: WorkerApp, machine: MachineRow): Promise<void> {
  await app.db.transaction().execute(async (tx) => {
    if (machine.wanted === 'stopped') return comeToRest(tx, machine)
    // A restart is a stop followed by a start, with no rest in between for anybody to see.
    await moveMachine(tx, await moveMachine(tx, machine, 'stopped'), 'starting')
  })
  app.changes.publish(machine.id)
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

/** Notes when the desktop of a running machine answers (event machine.ready). */
async function watchDesktop(app: WorkerApp, machine: MachineRow): Promise<void> {
  // What is to be captured waits for this, so a guest that is silent is not waited for.
  const signal = AbortSignal.timeout(desktopTimeoutMs)
  const isUp = await app.guests.display(guestRef(machine), { signal }).then(
    ({ up }) => up,
    () => false,
  )
  if (isUp) {
    await announce(app, machine)
    return noteReady(app, machine)
  }
  const runningForMs = Date.now() - (machine.started_at?.getTime() ?? 0)
  await postpone(app, machine, runningForMs < desktopPatienceMs ? desktopPollMs : 10_000)
}

/** Stores why a step failed and when it is tried again, or gives the machine up, its disk kept. */
async function recordFailure(app: WorkerApp, machine: MachineRow, error: unknown): Promise<void> {
  const fields = { err: error, machine_id: machine.id, state: machine.state }
  app.log.warn({ ...fields, attempts: machine.attempts }, 'a step failed')
  const isFinal = error instanceof StepFailed || (error instanceof DriverError && !error.retryable)
  if (error instanceof ImageMissing && (await isImageComing(app, machine))) {
    return postpone(app, machine, imagePollMs)
  }
  if (error instanceof DriverError && error.ofEngine) return postpone(app, machine, enginePollMs)
  const isOver = isFinal || machine.attempts + 1 >= maxAttempts
  const retry = () => postpone(app, machine, Math.min(500 * 2 ** machine.attempts, 30_000), error)
  // A deletion is never given up, and a desktop is not worth a machine.
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
    const message = `the machine could not be ${aims[machine.state]}${reasonOf(error)}`
    await move(app, machine, 'error', { message })
  } catch (cause) {
    app.log.warn({ err: cause, machine_id: machine.id }, 'a failure was not recorded yet')
    await retry()
  }
}

/** A server that has just been set up takes creations while it unpacks the image they need. */
async function isImageComing(app: WorkerApp, machine: MachineRow): Promise<boolean> {
  return (await getDefaultImage(app.db))?.id === machine.image_id
}

const aims: Partial<Record<MachineRow['state'], string>> = {
  creating: 'created',
  starting: 'started',
  stopping: 'stopped',
}
