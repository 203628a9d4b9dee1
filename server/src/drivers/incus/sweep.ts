import { isSeed } from './images.ts'
import { refOf } from './instance.ts'
import {
  concerns,
  findInstance,
  isComplete,
  listInstances,
  removeInstance,
  runningOperations,
  type Instances,
} from './instances.ts'
import { sweepFilters, sweepFolders, sweepLinks, trimLogs } from './sweep-host.ts'

/** Removes what the engine forgets; what lies on the host only where the engine is ours and there. */
export async function sweepEngine(
  instances: Instances,
  place: { readonly network: string; readonly engineDir: string | undefined },
): Promise<void> {
  await sweepInstances(instances)
  const { network, engineDir } = place
  if (engineDir === undefined) return
  await sweepLinks(network, async () => (await runningOperations(instances)).length > 0)
  await sweepFilters(instances.project)
  await sweepFolders(engineDir, instances.project, async () => {
    return new Set((await listInstances(instances)).map(({ name }) => name))
  })
  await trimLogs(engineDir)
}

/** Instances that never got their disk, and seeds of imports that broke off. */
async function sweepInstances(instances: Instances): Promise<void> {
  const halfMade = (await listInstances(instances)).filter(
    (instance) => isSeed(instance.name) || (refOf(instance.name) && !isComplete(instance)),
  )
  if (halfMade.length === 0) return
  const operations = await runningOperations(instances)
  for (const { name } of halfMade) {
    if (operations.some((operation) => concerns(operation, name))) continue
    // It may have been finished since it was listed: only what is still half-made goes.
    const now = await findInstance(instances, name)
    if (now && (isSeed(name) || !isComplete(now))) await removeInstance(instances, name)
  }
}
