import { existsSync } from 'node:fs'
import { readdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** cgroup v2: mounted beside v1 on a hybrid host, otherwise at the top. */
export const groupsFolder = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup'].find((folder) =>
  existsSync(join(folder, 'cgroup.procs')),
)

/** The engine gives a group one of the latter while the group of an earlier run is still there. */
const suffixes = ['', '-1', '-2']

const pollMs = 10
const mostPolls = 200

/**
 * The control group of a running machine, by the name that the engine gives its instance in the file
 * system. Leftovers of earlier runs share its name, and are empty.
 */
export async function findPayloadGroup(name: string): Promise<string | undefined> {
  if (groupsFolder === undefined) return undefined
  for (const suffix of suffixes) {
    const group = join(groupsFolder, `lxc.payload.${name}${suffix}`)
    if (await isPopulated(group)) return group
  }
  return undefined
}

/**
 * Kills what is left in the control groups of an instance that is gone, and removes them: an exec that the engine was
 * beginning while the machine was frozen is no child of its init, and would stay with them for good.
 */
export async function removeGroups(name: string): Promise<void> {
  const group = await findPayloadGroup(name)
  if (group) {
    // It may be gone already.
    await writeFile(join(group, 'cgroup.kill'), '1').catch(() => {})
    for (let polls = 0; polls < mostPolls && (await isPopulated(group)); polls += 1)
      await sleep(pollMs)
  }
  for (const hierarchy of await listHierarchies())
    for (const kind of ['payload', 'monitor'])
      for (const suffix of suffixes)
        await removeEmpty(join(hierarchy, `lxc.${kind}.${name}${suffix}`))
}

/** The hierarchy of cgroup v2, and those of v1 beside it. */
async function listHierarchies(): Promise<string[]> {
  const root = '/sys/fs/cgroup'
  const entries = await readdir(root, { withFileTypes: true })
  return [root, ...entries.filter((one) => one.isDirectory()).map(({ name }) => join(root, name))]
}

/** A group with processes stays. */
async function removeEmpty(group: string): Promise<void> {
  const entries = await readdir(group, { withFileTypes: true }).catch(() => [])
  for (const entry of entries) if (entry.isDirectory()) await removeEmpty(join(group, entry.name))
  await rmdir(group).catch(() => {})
}

async function isPopulated(group: string): Promise<boolean> {
  return /^populated 1$/m.test(await readEvents(group))
}

export function readEvents(group: string): Promise<string> {
  return readFile(join(group, 'cgroup.events'), 'utf8').catch(() => '')
}
