import type { Engine } from './engine.ts'
import { isSeed } from './images.ts'
import { captureIdOf, refOf } from './instance.ts'
import {
  concerns,
  findInstance,
  isComplete,
  listInstances,
  removeInstance,
  runningOperations,
  type Instances,
} from './instances.ts'
import type { DiskLimits } from './disks/limits.ts'
import { storageName } from './disks/host-pool.ts'
import { dropStaleQuotas } from './disks/quotas.ts'
import { sweepKept } from './kept-disks.ts'
import { sweepTransfers } from './transfer.ts'
import { removeGroups } from './payload-group.ts'
import { listFolders, sweepFilters, sweepFolders, sweepLinks, trimLogs } from './sweep-host.ts'

/** Removes what the engine leaves behind, on the host only if it runs a private engine. */
export async function sweepEngine(engine: Engine, limits: DiskLimits): Promise<void> {
  await sweepInstances(engine)
  const { network, engineDir } = engine.config
  if (engineDir === undefined) return
  await sweepLinks(
    { network, project: engine.project },
    {
      isBusy: async () => (await runningOperations(engine)).length > 0,
      async listDown() {
        const { stopped, deleted } = await listDown(engine, engineDir)
        return new Set([...stopped, ...deleted].map(({ name }) => name))
      },
    },
  )
  await sweepFilters(engine.project)
  const { deleted } = await listDown(engine, engineDir)
  for (const { name } of deleted) await removeGroups(storageName(engine.project, name))
  await sweepFolders(engine.project, deleted)
  await trimLogs(await listFolders(engineDir, engine.project))
  const pool = await engine.openPool()
  if (!pool) return
  await dropStaleQuotas(pool)
  await sweepTransfers(engine, pool)
  await sweepKept(engine, limits, pool)
}

/** The instances that are stopped, and the folders of those that are deleted. */
async function listDown(engine: Engine, engineDir: string) {
  // Before the instances, so that the folders of a new one are not taken for leftovers.
  const folders = await listFolders(engineDir, engine.project)
  const instances = await listInstances(engine)
  const names = new Set(instances.map(({ name }) => name))
  return {
    stopped: instances.filter(({ status }) => status === 'Stopped'),
    deleted: folders.filter(({ name }) => !names.has(name)),
  }
}

/** Removes instances without a disk, and seeds of imports that broke off. */
async function sweepInstances(instances: Instances): Promise<void> {
  const incomplete = (await listInstances(instances)).filter(
    (instance) => isSeed(instance.name) || (isOurs(instance.name) && !isComplete(instance)),
  )
  if (incomplete.length === 0) return
  const operations = await runningOperations(instances)
  for (const { name } of incomplete) {
    if (operations.some((operation) => concerns(operation, name))) continue
    // It may have been completed since it was listed.
    const now = await findInstance(instances, name)
    if (now && (isSeed(name) || !isComplete(now))) await removeInstance(instances, name)
  }
}

function isOurs(name: string): boolean {
  return refOf(name) !== undefined || captureIdOf(name) !== undefined
}
