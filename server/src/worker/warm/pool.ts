import type { ImageId } from '@computer/contract'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { guestDir } from '../../config.ts'
import type { MachineRow, WarmMachineRow } from '../../db/database.ts'
import { getSize } from '../../domain/accounts/plans.ts'
import { getDefaultImage } from '../../domain/disks/images.ts'
import { wantCopy } from '../../domain/disks/copies.ts'
import { readHostState } from '../../domain/hosts/hosts.ts'
import { isAnyStarting } from '../../domain/machines/work-queue.ts'
import { listWarmTemplates } from '../../domain/disks/templates.ts'
import {
  fitPool,
  makeAgain,
  refreshWarm,
  type Wanted,
  type WarmSpec,
} from '../../domain/machines/warm-machines.ts'
import type { EngineMachine } from '../../drivers/machine-driver.ts'
import { pause } from '../../pace.ts'
import { runPass } from '../passes.ts'
import type { WorkerApp } from '../worker-app.ts'

/*
 * Keeps as many warm machines as the server is configured for (COMPUTER_WARM_MACHINES), of the default
 * image in the default size, and as many of templates as an operator has set. All have the agent of this
 * build.
 */

/** The size of machines that request none. */
const defaultSize = 'small'
/** With less free memory than this, none is added. */
const leastFreeBytes = 2 ** 30

export async function keepWarm(app: WorkerApp, signal: AbortSignal): Promise<void> {
  // A build replaces the agent before this process starts.
  const agentBuild = await readAgentBuild(app)
  while (!signal.aborted) {
    await runPass(app, 'tend_warm_pool', () => tendPool(app, agentBuild))
    await pause(app.timing.warmPollMs, signal)
  }
}

async function tendPool(app: WorkerApp, agentBuild: string): Promise<void> {
  const { host } = app.config
  const image = await getDefaultImage(app.db)
  if (!image) return
  // A host that gets no machines keeps none warm.
  if ((await readHostState(app.db, host)) !== 'ready') {
    app.metrics.warm.setWanted(0)
    return fitPool(app, image.id, [], async () => false)
  }
  const describe = async (
    size: MachineRow['size'],
    base: Pick<WarmSpec, 'image_id' | 'base_capture_id'>,
  ): Promise<WarmSpec> => {
    const { cpu, memory_mb, disk_gb } = await getSize(app.db, size)
    return { ...base, size, cpu, memory_mb, disk_gb, agent_build: agentBuild }
  }
  const ofImage = await describe(defaultSize, { image_id: image.id, base_capture_id: null })
  const wanted: Wanted[] = [{ spec: ofImage, count: app.config.warmMachines }]
  for (const { copy, ...template } of await listWarmTemplates(app.db, host)) {
    const { warm: count, size, ...base } = template
    if (copy === 'ready') wanted.push({ spec: await describe(size, base), count })
    else if (copy === null) await wantCopy(app.db, base.base_capture_id, host)
  }
  app.metrics.warm.setWanted(wanted.reduce((sum, { count }) => sum + count, 0))
  await fitPool(app, image.id, wanted, () => mayAdd(app, image.id))
  await refreshWarm(app, app.timing.warmFreshMs)
}

/** Machines of users come first, and memory is theirs. */
async function mayAdd(app: WorkerApp, imageId: ImageId): Promise<boolean> {
  const { availableBytes } = await app.driver.measureMemory()
  if (availableBytes < leastFreeBytes) return false
  return !(await isAnyStarting(app)) && app.driver.hasImage(imageId)
}

/** Ready machines that went down, or that run although they should wait frozen, are made again. */
export async function reconcileWarm(
  app: WorkerApp,
  rows: readonly WarmMachineRow[],
  instances: readonly EngineMachine[],
): Promise<void> {
  const isFrozen = (row: WarmMachineRow) =>
    instances.some(
      ({ ref, isFrozen }) => isFrozen && ref.id === row.id && ref.generation === row.generation,
    )
  for (const row of rows) {
    if (row.state === 'ready' && !isFrozen(row)) await makeAgain(app, row)
  }
}

/** The main file of an agent names the digest of its program. */
async function readAgentBuild({ config }: Pick<WorkerApp, 'config'>): Promise<string> {
  const main = await readFile(join(guestDir(config), 'agent.mjs')).catch(() => '')
  return createHash('sha256').update(main).digest('hex').slice(0, 32)
}
