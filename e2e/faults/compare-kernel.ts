import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Instance } from '../../server/src/drivers/incus/instances.ts'
import { engineDirectory } from '../../server/src/host/engine.ts'

const run = promisify(execFile)

/** One server's part of the host. Others may run on it, whose things are not ours to judge. */
export type Place = {
  readonly dataDir: string
  readonly network: string
  readonly instances: readonly Instance[]
  /** Whether a name in the kernel or on the disk is of a machine or a capture that ever was ours. */
  isOurs(name: string): boolean
}

/** Disks, mounts, links, filters, control groups and folders: exactly those of what there is. */
export async function compareKernel(place: Place): Promise<string[]> {
  const all = new Set(place.instances.map(({ name }) => `computer_${name}`))
  const running = new Set(
    place.instances
      .filter(({ status }) => status !== 'Stopped')
      .map(({ name }) => `computer_${name}`),
  )
  const problems = await Promise.all([
    compareSubvolumes(place, all),
    compareMounts(place, running),
    compareLoops(place),
    compareLinks(place),
    compareFilters(place, running),
    compareGroups(place, running),
    compareFolders(place, all),
  ])
  return problems.flat()
}

async function compareSubvolumes({ dataDir }: Place, all: ReadonlySet<string>): Promise<string[]> {
  const pool = join(engineDirectory(dataDir), 'storage-pools', 'default')
  const { stdout } = await run('btrfs', ['subvolume', 'list', pool])
  const paths = [...stdout.matchAll(/ path (.*)$/gm)].map(([, path]) => path!)
  const wanted = new Set([...all].map((name) => `containers/${name}`))
  const extra = paths.filter((path) => !path.startsWith('images/') && !wanted.delete(path))
  return [
    ...extra.map((path) => `the subvolume ${path} is left behind`),
    ...[...wanted].map((path) => `the subvolume ${path} is missing`),
  ]
}

/**
 * The daemon's own three. Where it was killed while it started a machine, that of the agent stays as
 * long as the machine runs.
 */
async function compareMounts({ dataDir }: Place, running: ReadonlySet<string>): Promise<string[]> {
  const folder = `${engineDirectory(dataDir)}/`
  const text = await readFile('/proc/self/mounts', 'utf8')
  const mounts = text
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => path.startsWith(folder))
    .map((path) => path.slice(folder.length))
  const own = new Set(['guestapi', 'shmounts', 'storage-pools/default'])
  const strange = mounts.filter((path) => {
    const [parent, machine = ''] = path.split('/')
    return !own.delete(path) && !(parent === 'devices' && running.has(machine))
  })
  return [
    ...strange.map((path) => `${path} is still mounted`),
    ...[...own].map((path) => `${path} is not mounted`),
  ]
}

async function compareLoops({ dataDir }: Place): Promise<string[]> {
  const file = join(engineDirectory(dataDir), 'disks', 'default.img')
  const { stdout } = await run('losetup', ['--associated', file])
  const count = stdout.split('\n').filter(Boolean).length
  return count === 1 ? [] : [`${count} loop devices hold the pool's file`]
}

/** Each running machine has one link on our bridge, and its other end is inside. */
async function compareLinks({ network, instances }: Place): Promise<string[]> {
  const { stdout } = await run('ip', ['-json', 'link', 'show', 'type', 'veth'])
  const links = (JSON.parse(stdout) as { ifname: string; master?: string; link_netnsid?: number }[])
    .filter(({ master }) => master === network)
    .map(({ ifname, link_netnsid: inside }) => ({ ifname, isInside: inside !== undefined }))
  const wanted = new Map(
    instances
      .filter(({ status }) => status !== 'Stopped')
      .map(({ name, config }) => [config['volatile.eth0.host_name'], name]),
  )
  const problems = links.flatMap(({ ifname, isInside }) => {
    const owner = wanted.get(ifname)
    wanted.delete(ifname)
    if (owner === undefined) return [`the link ${ifname} belongs to no machine`]
    return isInside ? [] : [`the link ${ifname} of ${owner} has no other end`]
  })
  return [...problems, ...[...wanted].map(([link, name]) => `${name} has no link ${link}`)]
}

async function compareFilters(place: Place, running: ReadonlySet<string>): Promise<string[]> {
  const { stdout } = await run('nft', ['list', 'table', 'bridge', 'incus']).catch(() => ({
    stdout: '',
  }))
  const chains = [...stdout.matchAll(/chain (?:in|fwd)\.(\S+)\.eth0 /g)].map(([, name]) => name!)
  return strays(place, chains, running).map((name) => `packet filters of ${name} are left behind`)
}

async function compareGroups(place: Place, running: ReadonlySet<string>): Promise<string[]> {
  const root = '/sys/fs/cgroup'
  const names = new Set<string>()
  for (const entry of ['.', ...(await readdir(root))]) {
    for (const group of await readdir(join(root, entry)).catch(() => [])) {
      const name = /^lxc\.(?:payload|monitor)\.(.*)$/.exec(group)?.[1]
      if (name) names.add(name)
    }
  }
  return strays(place, [...names], running).map((name) => `a control group of ${name} is left`)
}

/** The daemon clears these away when a machine stops or, where it was killed meanwhile, goes. */
async function compareFolders(place: Place, all: ReadonlySet<string>): Promise<string[]> {
  const folders = ['devices', 'shmounts', `networks/${place.network}/dnsmasq.hosts`]
  const problems: string[] = []
  for (const folder of folders) {
    const entries = await readdir(join(engineDirectory(place.dataDir), folder))
    const owners = entries.map((entry) => entry.replace(/\.eth0$/, ''))
    for (const name of strays(place, owners, all)) {
      problems.push(`${folder} has an entry of ${name}`)
    }
  }
  return problems
}

function strays(place: Place, names: readonly string[], wanted: ReadonlySet<string>): string[] {
  return names.filter((name) => place.isOurs(name) && !wanted.has(name))
}
