import type { CaptureCopyRow } from '../db/database.ts'
import { releaseClaim, renewClaims } from '../domain/claims.ts'
import {
  claimWantedCopies,
  completeCopy,
  findCopySource,
  giveUpCopy,
  postponeCopy,
} from '../domain/disks/copies.ts'
import { DriverError } from '../drivers/machine-driver.ts'
import { backoffMs } from '../timing.ts'
import { addImage } from './images.ts'
import type { Queue } from './queue.ts'
import type { WorkerApp } from './worker-app.ts'

/* Copies of captures that this host gets from others. A machine that waits for one goes on when it is there. */

const maxAtOnce = 2

export function copyQueue(app: WorkerApp): Queue<CaptureCopyRow> {
  return {
    name: 'capture_copies',
    maxAtOnce,
    claim: (workerId, limit) => claimWantedCopies(app, workerId, limit),
    renew: (workerId, ids) => renewClaims(app, 'capture_copies', workerId, ids),
    release: (workerId, id) => releaseClaim(app, 'capture_copies', workerId, id),
    work: (copy) => makeCopy(app, copy),
  }
}

async function makeCopy(app: WorkerApp, copy: CaptureCopyRow): Promise<void> {
  const { id, capture_id: captureId } = copy
  const delayMs = backoffMs(app.timing.captureRetry, copy.attempts)
  try {
    const source = await findCopySource(app.db, copy)
    if (!source) return await postponeCopy(app, id, delayMs)
    const { host, ...transfer } = source
    await addImage(app, transfer.imageId, host)
    const stream = await app.hosts.sendCapture(host, captureId, transfer)
    try {
      await app.driver.receiveCapture(captureId, transfer, stream)
    } finally {
      stream.destroy()
    }
    // Nobody wants it any more: the capture was deleted meanwhile.
    if (!(await completeCopy(app, copy))) await app.driver.removeCapture(captureId)
  } catch (error) {
    const fields = { err: error, capture_id: captureId, attempts: copy.attempts }
    app.log.warn(fields, 'could not copy a capture from another host')
    if (error instanceof DriverError && !error.retryable) await giveUpCopy(app, id)
    else await postponeCopy(app, id, delayMs)
  }
}
