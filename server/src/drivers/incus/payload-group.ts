import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** cgroup v2: mounted beside v1 on a hybrid host, otherwise at the top. */
export const groupsFolder = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup'].find((folder) =>
  existsSync(join(folder, 'cgroup.procs')),
)

/**
 * The control group of a running machine, by the name that the engine gives its instance in the file
 * system. Leftovers of earlier runs share its name, and are empty.
 */
export async function findPayloadGroup(name: string): Promise<string | undefined> {
  if (groupsFolder === undefined) return undefined
  for (const suffix of ['', '-1', '-2']) {
    const group = join(groupsFolder, `lxc.payload.${name}${suffix}`)
    if (/^populated 1$/m.test(await readEvents(group))) return group
  }
  return undefined
}

/**
 * Kills what is left in the group of an instance that is gone: an exec that the engine was beginning while the machine
 * was frozen is no child of its init, and would stay with it for good.
 */
export async function endProcesses(name: string): Promise<void> {
  const group = await findPayloadGroup(name)
  // It may be gone already.
  if (group) await writeFile(join(group, 'cgroup.kill'), '1').catch(() => {})
}

export function readEvents(group: string): Promise<string> {
  return readFile(join(group, 'cgroup.events'), 'utf8').catch(() => '')
}
