import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A guest may have many groups and threads, and each takes a few reads. */
const most = { groups: 200, threads: 2_000, named: 5 }

/** Where frozen threads wait, and parents of a child that is frozen before it has begun. */
const frozenIn = /freezer|get_signal|vfork/

/**
 * The threads below a control group of cgroup v2 that are not frozen, for a log: the name of each, which
 * its guest chose, its state, and the function of the kernel that it waits in.
 */
export async function describeUnfrozen(group: string): Promise<string> {
  const found: string[] = []
  for (const thread of await listThreads(group)) {
    const status = await readOrEmpty(`/proc/${thread}/status`)
    const waitsIn = await readOrEmpty(`/proc/${thread}/wchan`)
    if (status === '' || frozenIn.test(waitsIn)) continue
    const name = /^Name:\t(.*)$/m.exec(status)?.[1]
    const state = /^State:\t(\S)/m.exec(status)?.[1]
    found.push(`${JSON.stringify(name)} (${state}, ${waitsIn})`)
    if (found.length === most.named) break
  }
  return found.join(', ') || 'none'
}

/** The first threads of the group and of the groups below it, which may vanish meanwhile. */
async function listThreads(group: string): Promise<string[]> {
  const threads: string[] = []
  const groups = [group]
  for (let read = 0; read < most.groups && threads.length < most.threads; read++) {
    const next = groups.shift()
    if (next === undefined) break
    const list = await readOrEmpty(join(next, 'cgroup.threads'))
    threads.push(...list.split('\n', most.threads).filter((line) => line !== ''))
    const entries = await readdir(next, { withFileTypes: true }).catch(() => [])
    const inner = entries.filter((entry) => entry.isDirectory()).slice(0, most.groups)
    groups.push(...inner.map(({ name }) => join(next, name)))
  }
  return threads.slice(0, most.threads)
}

function readOrEmpty(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}
