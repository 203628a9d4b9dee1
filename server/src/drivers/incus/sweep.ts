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
import { dropStaleQuotas } from './disks/quotas.ts'
import { sweepFilters, sweepFolders, sweepLinks, trimLogs } from './sweep-host.ts'

/** Removes what the engine leaves behind, on the host only if it runs a private engine. */
export async function sweepEngine(engine: Engine): Promise<void> {
  await sweepInstances(engine)
  const { network, engineDir } = engine.config
  if (engineDir === undefined) return
  await sweepLinks(
    { network, project: engine.project },
    {
      isBusy: async () => (await runningOperations(engine)).length > 0,
      listStopped: async () => {
        const stopped = (await listInstances(engine)).filter(({ status }) => status === 'Stopped')
        return new Set(stopped.map(({ name }) => name))
      },
    },
  )
  await sweepFilters(engine.project)
  await sweepFolders(engineDir, engine.project, async () => {
    return new Set((await listInstances(engine)).map(({ name }) => name))
  })
  await trimLogs(engineDir)
  const pool = await engine.openPool()
  if (pool) await dropStaleQuotas(pool)
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
