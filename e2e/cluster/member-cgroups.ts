import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '../harness/polling.ts'

const root = '/sys/fs/cgroup'
/** The hierarchy of a kernel that has only one, in version 2. */
const only = '.'

/** The cgroups of a host in name spaces: one in each hierarchy of this host. */
export type MemberCgroups = {
  readonly hierarchies: readonly string[]
  /** The files that take a process of the host. */
  readonly entrances: readonly string[]
  /** Moves the first processes to where groups beside theirs can have limits. */
  settle(): Promise<void>
  remove(): Promise<void>
}

export async function makeMemberCgroups(name: string): Promise<MemberCgroups> {
  const hierarchies = await listHierarchies()
  for (const hierarchy of hierarchies) await makeGroup(hierarchy, name)
  const isSingle = hierarchies.includes(only)
  const inner = isSingle ? 'init' : '.'
  return {
    hierarchies,
    entrances: hierarchies.map((hierarchy) => join(root, hierarchy, name, inner, 'cgroup.procs')),
    settle: async () => (isSingle ? settleSingle(join(root, name), inner) : undefined),
    async remove() {
      for (const hierarchy of hierarchies) {
        const folder = join(root, hierarchy, name)
        // Processes that were killed leave their groups a little later.
        await eventually(`${folder} is empty`, async () => {
          await removeGroups(folder)
          return !existsSync(folder)
        })
      }
    },
  }
}

/** The names of the mounted hierarchies. */
async function listHierarchies(): Promise<readonly string[]> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n')
  return mounts.flatMap((line) => {
    const [, path = '', type = ''] = line.split(' ')
    if (type === 'cgroup2' && path === root) return [only]
    const [, name] = type.startsWith('cgroup')
      ? (/^\/sys\/fs\/cgroup\/([^/]+)$/.exec(path) ?? [])
      : []
    return name === undefined ? [] : [name]
  })
}

async function makeGroup(hierarchy: string, name: string): Promise<void> {
  const folder = join(root, hierarchy, name)
  await mkdir(folder, { recursive: true })
  if (!hierarchy.split(',').includes('cpuset')) return
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    await writeFile(join(folder, file), await readFile(join(root, hierarchy, file)))
  }
  await writeFile(join(folder, 'cgroup.clone_children'), '1')
}

async function settleSingle(folder: string, inner: string): Promise<void> {
  await mkdir(join(folder, inner))
  const pids = (await readFile(join(folder, 'cgroup.procs'), 'utf8')).trim().split('\n')
  for (const pid of pids) await writeFile(join(folder, inner, 'cgroup.procs'), pid)
  const controllers = (await readFile(join(folder, 'cgroup.controllers'), 'utf8')).trim()
  const enabled = controllers.split(' ').map((controller) => `+${controller}`)
  await writeFile(join(folder, 'cgroup.subtree_control'), enabled.join(' '))
}

async function removeGroups(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  for (const entry of entries) {
    if (entry.isDirectory()) await removeGroups(join(folder, entry.name))
  }
  await rmdir(folder).catch(() => {})
}
