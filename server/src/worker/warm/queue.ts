import { setTimeout as sleep } from 'node:timers/promises'
import type { WarmMachineRow } from '../../db/database.ts'
import { releaseClaim, renewClaims } from '../../domain/claims.ts'
import { guestRef } from '../../domain/guests/calls.ts'
import {
  claimWarm,
  forgetWarm,
  isStillMaking,
  postponeWarm,
  recordAttempt,
  recordReady,
} from '../../domain/machines/warm-machines.ts'
import { DriverError } from '../../drivers/machine-driver.ts'
import { backoffMs } from '../../timing.ts'
import { span } from '../../trace/span.ts'
import type { Queue } from '../queue.ts'
import type { Slot } from '../slots.ts'
import { specOf } from '../spec.ts'
import type { WorkerApp } from '../worker-app.ts'

/*
 * Makes warm machines and removes those that are no longer wanted. Every step may be repeated, and a
 * machine that is frozen, stopped or half made becomes ready in the same way as one that does not exist.
 */

/** Making one takes a processor's time from the machines of users. */
const maxAtOnce = 1
const bootTimeoutMs = 90_000
const callTimeoutMs = 5_000
/** Until a user gives the machine a name. */
const hostname = 'computer'

export function warmQueue(app: WorkerApp): Queue<WarmMachineRow> {
  return {
    name: 'warm_machines',
    maxAtOnce,
    claim: (workerId, limit) => claimWarm(app, workerId, limit),
    renew: (workerId, ids) => renewClaims(app, 'warm_machines', workerId, ids),
    release: (workerId, id) => releaseClaim(app, 'warm_machines', workerId, id),
    work: (row, slot) =>
      span(`warm machine ${row.state}`, { id: row.id }, () => advance(app, row, slot)),
  }
}

async function advance(app: WorkerApp, row: WarmMachineRow, slot: Slot): Promise<void> {
  try {
    await (row.state === 'ending' ? end(app, row) : make(app, row, slot))
  } catch (error) {
    const fields = { err: error, machine_id: row.id, state: row.state, attempts: row.attempts }
    app.log.warn(fields, 'a step of a warm machine failed; will retry')
    await recordFailure(app, row, error)
  }
}

async function recordFailure(app: WorkerApp, row: WarmMachineRow, error: unknown): Promise<void> {
  // An outage of the engine does not count as an attempt, however long it lasts.
  if (error instanceof DriverError && error.ofEngine) {
    return postponeWarm(app, row, app.timing.enginePollMs)
  }
  const delayMs = backoffMs(app.timing.warmRetry, row.attempts)
  const isMine = await recordAttempt(app, row, delayMs)
  if (isMine && row.state === 'making') await app.driver.destroy(specOf(app, row))
}

async function end(app: WorkerApp, row: WarmMachineRow): Promise<void> {
  await app.driver.destroy(specOf(app, row))
  await forgetWarm(app, row.id)
}

async function make(app: WorkerApp, row: WarmMachineRow, slot: Slot): Promise<void> {
  const { driver } = app
  const spec = specOf(app, row)
  await driver.create(spec)
  await driver.start(spec)
  await slot.away(() => boot(app, row))
  // A worker that was stalled may come back when the machine is somebody's already.
  if (!(await isStillMaking(app.db, row))) return
  await driver.freeze(spec)
  if (!(await recordReady(app, row))) await driver.thaw(spec)
}

/** Waits until the desktop is up and has done all that its start leaves to do. */
async function boot(app: WorkerApp, row: WarmMachineRow): Promise<void> {
  const { guests, timing } = app
  const ref = guestRef({ ...row, boots: 0 })
  const deadline = performance.now() + bootTimeoutMs
  const isUp = async () => {
    const signal = AbortSignal.timeout(callTimeoutMs)
    await guests.setIdentity(ref, { machine: row.id, hostname }, { signal })
    return (await guests.display(ref, { signal })).up
  }
  let failure: unknown
  const answers = () =>
    isUp().catch((error: unknown) => {
      failure = error
      return false
    })
  // Asked each time, because somebody may have the machine by now, under a name of its own.
  while (await isStillMaking(app.db, row)) {
    if (await answers()) return sleep(timing.warmRestMs)
    if (performance.now() > deadline) {
      const message = 'a warm machine did not boot in time'
      throw new DriverError(message, { retryable: true, cause: failure })
    }
    await sleep(timing.bootPollMs)
  }
}
