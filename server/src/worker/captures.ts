import type { CaptureRow, MachineRow } from '../db/database.ts'
import { completeCapture, failCapture } from '../domain/disks/capture-outcome.ts'
import {
  claimReleasedCaptures,
  finishRemoval,
  postponeCapture,
} from '../domain/disks/capture-work.ts'
import { releaseClaim, renewClaims } from '../domain/claims.ts'
import { guestRef } from '../domain/guests/calls.ts'
import { DriverError, MachineFull, PoolFull, type MachineRef } from '../drivers/machine-driver.ts'
import { backoffMs } from '../timing.ts'
import type { Queue } from './queue.ts'
import type { Slot } from './slots.ts'
import type { WorkerApp } from './worker-app.ts'

/*
 * Captures of machines. `takeCapture` runs under the claim of its machine and before the machine's own
 * step, so nothing starts, stops or removes a disk while it is copied. A repeated call finds the copy
 * that the engine already has. Copies that no row names any more are removed by their own queue.
 */

const maxAttempts = 3
const maxRemovalsAtOnce = 2

export async function takeCapture(
  app: WorkerApp,
  machine: MachineRow,
  capture: CaptureRow,
  slot: Slot,
): Promise<void> {
  const ref = { id: machine.id, generation: capture.generation }
  try {
    await slot.away(() => flush(app, machine))
    const { writtenBytes } = await app.driver.capture(ref, capture.id)
    await completeCapture(app, capture, writtenBytes)
  } catch (error) {
    const fields = { machine_id: machine.id, capture_id: capture.id, attempts: capture.attempts }
    app.log.warn({ err: error, ...fields }, 'could not capture a machine')
    await recordFailure(app, ref, capture, error)
  }
}

/** Schedules a retry or gives the capture up with a reason. The machine runs on either way. */
async function recordFailure(
  app: WorkerApp,
  ref: MachineRef,
  capture: CaptureRow,
  error: unknown,
): Promise<void> {
  const { driver } = app
  const { id, attempts } = capture
  const retry = () => postponeCapture(app, capture, backoffMs(app.timing.captureRetry, attempts))
  try {
    const state = await driver.inspect(ref)
    if (state === 'running') await driver.thaw(ref)
    const isFinal = error instanceof DriverError && !error.retryable
    if (!isFinal && attempts + 1 < maxAttempts) return await retry()
    const isDiskGone = state === 'absent'
    const failure = { reason: reasonOf(error, isDiskGone), isDiskGone }
    // False if another worker finished the capture while this one was held up: its copy is in use.
    if (await failCapture(app, capture, failure)) await driver.removeCapture(id)
  } catch (cause) {
    // The engine does not answer: nothing is given up before it is back.
    app.log.warn({ err: cause, capture_id: id }, 'could not record a failed capture; will retry')
    await retry()
  }
}

export function removalQueue(app: WorkerApp): Queue<CaptureRow> {
  return {
    name: 'capture_removals',
    maxAtOnce: maxRemovalsAtOnce,
    claim: (workerId, limit) => claimReleasedCaptures(app, workerId, limit),
    renew: (workerId, ids) => renewClaims(app, 'captures', workerId, ids),
    release: (workerId, id) => releaseClaim(app, 'captures', workerId, id),
    work: (capture) => remove(app, capture),
  }
}

async function remove(app: WorkerApp, capture: CaptureRow): Promise<void> {
  try {
    await app.driver.removeCapture(capture.id)
    await finishRemoval(app, capture.id)
  } catch (error) {
    const { id, attempts } = capture
    app.log.warn({ err: error, capture_id: id, attempts }, 'could not remove a capture; will retry')
    await postponeCapture(app, capture, backoffMs(app.timing.removalRetry, attempts))
  }
}

/** Makes the guest write out its caches. If its agent does not answer, the disk is copied as it is. */
async function flush(app: WorkerApp, machine: MachineRow): Promise<void> {
  if (!['running', 'stopping', 'deleting'].includes(machine.state)) return
  try {
    const { flushTimeoutMs: timeoutMs } = app.timing
    await app.guests.flush(guestRef(machine), { timeoutMs })
  } catch (error) {
    app.log.info({ err: error, machine_id: machine.id }, 'capturing a machine without a flush')
  }
}

function reasonOf(error: unknown, isDiskGone: boolean): string {
  if (error instanceof PoolFull) {
    return 'the disk of this server is full: delete snapshots or machines and try again'
  }
  if (error instanceof MachineFull) {
    return "the machine's disk is full: delete something in the machine and try again"
  }
  return isDiskGone ? "the machine's disk is gone" : 'the disk could not be copied; try again'
}
