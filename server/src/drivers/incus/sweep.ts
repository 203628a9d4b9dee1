import { execFile } from 'node:child_process'
import { readdir, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isSeed } from './images.ts'
import { refOf } from './instance.ts'
import {
  concerns,
  isComplete,
  listInstances,
  removeInstance,
  runningOperations,
  type Instances,
} from './instances.ts'

const run = promisify(execFile)
const largestLogBytes = 8 * 2 ** 20

/** Removes what the engine forgets. `engineDir` and the links only where it is ours, on this host. */
export async function sweepEngine(
  instances: Instances,
  place: { readonly network: string; readonly engineDir: string | undefined },
): Promise<void> {
  await sweepInstances(instances)
  if (place.engineDir === undefined) return
  await sweepLinks(instances, place.network)
  await trimLogs(join(place.engineDir, 'logs'))
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
    const now = (await listInstances(instances)).find((instance) => instance.name === name)
    if (now && (isSeed(name) || !isComplete(now))) await removeInstance(instances, name)
  }
}

/**
 * A failed start leaves its pair of links behind: one end on our bridge, the other still with the host,
 * down. A start that is going on looks the same, so a pair must look so before and after a moment at
 * which no start was going on.
 */
async function sweepLinks(instances: Instances, network: string): Promise<void> {
  const before = await listLeaked(network)
  if (before.length === 0 || (await runningOperations(instances)).length > 0) return
  const after = new Set(await listLeaked(network))
  for (const link of before) {
    // Its peer goes with it. That it is gone already is as well.
    if (after.has(link)) await run('ip', ['link', 'delete', 'dev', link]).catch(() => {})
  }
}

type Link = {
  readonly ifname: string
  readonly link?: string
  readonly link_netnsid?: number
  readonly operstate: string
  readonly master?: string
}

async function listLeaked(network: string): Promise<string[]> {
  const { stdout } = await run('ip', ['-json', 'link', 'show', 'type', 'veth'])
  const links = JSON.parse(stdout) as Link[]
  const down = new Set(links.filter((link) => link.operstate === 'DOWN').map((link) => link.ifname))
  return links
    .filter(({ master, link_netnsid }) => master === network && link_netnsid === undefined)
    .filter(({ link }) => link !== undefined && down.has(link))
    .map(({ ifname }) => ifname)
}

/** Every exec adds to its machine's log until the next start; only the end is of use. */
async function trimLogs(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue
    const path = join(directory, entry.name, 'lxc.log')
    const size = await stat(path).then(
      (found) => found.size,
      () => 0,
    )
    if (size > largestLogBytes) await truncate(path)
  }
}
