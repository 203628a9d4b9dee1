import type { RelocationRow } from '../db/database.ts'
import { withClaim } from '../domain/claims.ts'
import { advanceRelocation, endRelocation, listRelocations } from '../domain/disks/relocations.ts'
import { drain } from '../domain/machines/draining.ts'
import { pause } from '../pace.ts'
import { runPass } from './passes.ts'
import { logFailure } from './queue.ts'
import type { WorkerApp } from './worker-app.ts'

/** Relocates machines of this host to others while it is draining, until the signal is aborted. */
export async function relocateMachines(app: WorkerApp, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await runPass(app, 'drain', () => drain(app))
    const relocations = await logFailure(app, () => listRelocations(app.db, app.config.host))
    for (const relocation of relocations ?? []) {
      await logFailure(app, () => goOn(app, relocation))
    }
    await pause(app.timing.relocationPollMs, signal)
  }
}

async function goOn(app: WorkerApp, relocation: RelocationRow): Promise<void> {
  const { machine_id: id, phase, phase_since: since } = relocation
  if (phase === 'moved') {
    await removeFormerDisk(app, relocation)
  } else if (phase === 'failed') {
    if (Date.now() - since.getTime() < app.timing.relocationRetryMs) return
  } else if (phase === 'switching') {
    return advanceRelocation(app, relocation)
  } else {
    return withClaim(app, id, () => advanceRelocation(app, relocation))
  }
  await app.db.transaction().execute((tx) => endRelocation(tx, relocation))
}

async function removeFormerDisk(app: WorkerApp, { machine_id: id }: RelocationRow): Promise<void> {
  const instances = await app.driver.list()
  for (const { ref } of instances) if (ref.id === id) await app.driver.destroy(ref)
}
