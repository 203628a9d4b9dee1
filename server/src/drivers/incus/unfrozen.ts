import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A guest may have many threads, and each takes a few reads. */
const most = { threads: 2_000, named: 5 }

/** Where frozen threads wait, and parents of a child that is frozen before it has begun. */
const frozenIn = /freezer|get_signal|vfork/

/**
 * The threads below a control group of cgroup v2 that are not frozen, for a log: the name of each, which
 * its guest chose, its state, and the function of the kernel that it waits in.
 */
export async function describeUnfrozen(group: string): Promise<string> {
  const found: string[] = []
  for (const thread of (await listThreads(group)).slice(0, most.threads)) {
    const [waitsIn, status] = await Promise.all(
      ['wchan', 'status'].map((file) => readOrEmpty(join('/proc', thread, file))),
    )
    if (status === '' || frozenIn.test(waitsIn!)) continue
    const name = /^Name:\t(.*)$/m.exec(status!)?.[1]
    const state = /^State:\t(\S)/m.exec(status!)?.[1]
    found.push(`${JSON.stringify(name)} (${state}, ${waitsIn})`)
    if (found.length === most.named) break
  }
  return found.join(', ') || 'none'
}

async function listThreads(group: string): Promise<string[]> {
  const entries = await readdir(group, { withFileTypes: true, recursive: true }).catch(() => [])
  const groups = entries.filter((entry) => entry.isDirectory())
  const folders = [group, ...groups.map((entry) => join(entry.parentPath, entry.name))]
  const lists = await Promise.all(
    folders.map((folder) => readOrEmpty(join(folder, 'cgroup.threads'))),
  )
  return lists.flatMap((list) => list.split('\n').filter((line) => line !== ''))
}

function readOrEmpty(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}
