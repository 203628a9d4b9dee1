import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Instance } from '../../server/src/drivers/incus/instances.ts'
import { engineDirectory } from '../../server/src/host/engine.ts'
import type { FaultHost } from './fault-host.ts'

const run = promisify(execFile)

/** A host's part of this kernel, on which other servers may run as well. */
export type Host = Pick<FaultHost, 'dataDir' | 'network' | 'processes'> & {
  readonly instances: readonly Instance[]
  /** Whether a name in the kernel or on the disk belongs to a machine or capture of this server. */
  isOurs(name: string): boolean
}

/** Expects exactly the disks, mounts, links, filters, control groups and folders of the instances. */
export async function compareKernel(host: Host): Promise<string[]> {
  const all = new Set(host.instances.map(({ name }) => `computer_${name}`))
  const running = new Set(
    host.instances
      .filter(({ status }) => status !== 'Stopped')
      .map(({ name }) => `computer_${name}`),
  )
  const problems = await Promise.all([
    compareSubvolumes(host, all),
    compareMounts(host, running),
    compareLoops(host),
    compareLinks(host),
    compareFilters(host, running),
    compareGroups(host, running),
    compareFolders(host, all),
  ])
  return problems.flat()
}

async function compareSubvolumes({ dataDir }: Host, all: ReadonlySet<string>): Promise<string[]> {
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
 * Expects the daemon's own three mounts. If the daemon was killed while it started a machine, the mount of
 * the agent stays until the machine stops.
 */
async function compareMounts({ dataDir }: Host, running: ReadonlySet<string>): Promise<string[]> {
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

async function compareLoops({ dataDir }: Host): Promise<string[]> {
  const file = join(engineDirectory(dataDir), 'disks', 'default.img')
  const { stdout } = await run('losetup', ['--associated', file])
  const count = stdout.split('\n').filter(Boolean).length
  return count === 1 ? [] : [`${count} loop devices are attached to the pool's file instead of 1`]
}

/** Expects one link on the bridge for each running machine, with its other end inside. */
async function compareLinks({ network, instances }: Host): Promise<string[]> {
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
    return isInside ? [] : [`the link ${ifname} of ${owner} has no other end inside`]
  })
  return [...problems, ...[...wanted].map(([link, name]) => `${name} has no link ${link}`)]
}

async function compareFilters(host: Host, running: ReadonlySet<string>): Promise<string[]> {
  const { stdout } = await run('nft', ['list', 'table', 'bridge', 'incus']).catch(() => ({
    stdout: '',
  }))
  const chains = [...stdout.matchAll(/chain (?:in|fwd)\.(\S+)\.eth0 /g)].map(([, name]) => name!)
  return findStrays(host, chains, running).map(
    (name) => `packet filters of ${name} are left behind`,
  )
}

async function compareGroups(host: Host, running: ReadonlySet<string>): Promise<string[]> {
  const root = '/sys/fs/cgroup'
  const names = new Set<string>()
  for (const entry of ['.', ...(await readdir(root))]) {
    for (const group of await readdir(join(root, entry)).catch(() => [])) {
      const name = /^lxc\.(?:payload|monitor)\.(.*)$/.exec(group)?.[1]
      if (name) names.add(name)
    }
  }
  return findStrays(host, [...names], running).map(
    (name) => `a control group of ${name} is left behind`,
  )
}

/** The daemon removes these when a machine stops or, if it was killed meanwhile, when it is deleted. */
async function compareFolders(host: Host, all: ReadonlySet<string>): Promise<string[]> {
  const folders = ['devices', 'shmounts', `networks/${host.network}/dnsmasq.hosts`]
  const problems: string[] = []
  for (const folder of folders) {
    const entries = await readdir(join(engineDirectory(host.dataDir), folder))
    const owners = entries.map((entry) => entry.replace(/\.eth0$/, ''))
    for (const name of findStrays(host, owners, all)) {
      problems.push(`an entry of ${name} in ${folder} is left behind`)
    }
  }
  return problems
}

function findStrays(host: Host, names: readonly string[], wanted: ReadonlySet<string>): string[] {
  return names.filter((name) => host.isOurs(name) && !wanted.has(name))
}
