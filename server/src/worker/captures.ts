import type { CaptureRow, MachineRow } from '../db/database.ts'
import { completeCapture, failCapture } from '../domain/disks/capture-outcome.ts'
import { claimReleasedCaptures, finishRemoval, retryCapture } from '../domain/disks/capture-work.ts'
import { releaseClaim, renewClaims } from '../domain/claims.ts'
import { guestRef } from '../domain/guests/calls.ts'
import { DriverError, MachineFull, PoolFull, type MachineRef } from '../drivers/machine-driver.ts'
import type { WorkerApp } from './app.ts'
import type { Queue } from './queue.ts'

/*
 * Captures of machines. `takeCapture` runs under the claim of its machine and before the machine's own
 * step, so nothing starts, stops or removes a disk while it is copied. Repeated, the engine's copy is
 * the same one. Copies that nobody names any more are removed by a queue of their own.
 */

const flushTimeoutMs = 5_000
const maxAttempts = 3
const maxRemovalsAtOnce = 2

export async function takeCapture(
  app: WorkerApp,
  machine: MachineRow,
  capture: CaptureRow,
): Promise<void> {
  const ref = { id: machine.id, generation: capture.generation }
  try {
    await flush(app, machine)
    const { writtenBytes } = await app.driver.capture(ref, capture.id)
    await completeCapture(app, capture, writtenBytes)
  } catch (error) {
    const fields = { machine_id: machine.id, capture_id: capture.id, attempts: capture.attempts }
    app.log.warn({ err: error, ...fields }, 'a machine was not captured')
    await recordFailure(app, ref, capture, error)
  }
}

/** Tries again later, or tells whoever asked why there is none. The machine runs on either way. */
async function recordFailure(
  app: WorkerApp,
  ref: MachineRef,
  capture: CaptureRow,
  error: unknown,
): Promise<void> {
  const { driver } = app
  const { id, attempts } = capture
  const retry = () => retryCapture(app, capture, Math.min(2_000 * 4 ** attempts, 30_000))
  try {
    const seen = await driver.inspect(ref)
    if (seen === 'running') await driver.thaw(ref)
    const isFinal = error instanceof DriverError && !error.retryable
    if (!isFinal && attempts + 1 < maxAttempts) return await retry()
    const isDiskGone = seen === 'absent'
    const failure = { reason: reasonOf(error, isDiskGone), isDiskGone }
    // Another worker may have made it while this one was held up: then its copy is somebody's.
    if (await failCapture(app, capture, failure)) await driver.removeCapture(id)
  } catch (cause) {
    // An engine that does not even answer that is down: nothing is given up before it is back.
    app.log.warn({ err: cause, capture_id: id }, 'a failed capture was not settled yet')
    await retry()
  }
}

export function removalQueue(app: WorkerApp): Queue<CaptureRow> {
  return {
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
    app.log.warn({ err: error, capture_id: id, attempts }, 'a capture was not removed yet')
    await retryCapture(app, capture, Math.min(500 * 2 ** attempts, 30_000))
  }
}

/** What the guest has not written yet would be missing. One that is silent is copied as it is. */
async function flush(app: WorkerApp, machine: MachineRow): Promise<void> {
  if (!['running', 'stopping', 'deleting'].includes(machine.state)) return
  try {
    await app.guests.flush(guestRef(machine), { timeoutMs: flushTimeoutMs })
  } catch (error) {
    app.log.info({ err: error, machine_id: machine.id }, 'captured without a flush')
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
