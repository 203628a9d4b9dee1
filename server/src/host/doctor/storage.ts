import { stat, statfs } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { dirname } from 'node:path'
import { fail, isAtLeast, ok, runSetup, warn, type Check } from './check.ts'

const gib = 1024 ** 3

export const storageChecks: readonly Check[] = [
  {
    name: 'btrfs',
    concerns: 'engine',
    async run(host) {
      const known = (await host.read('/proc/filesystems')) ?? ''
      if (!/\bbtrfs$/m.test(known) && (await host.run('modprobe', 'btrfs')) === null) {
        return fail(
          'the kernel does not support btrfs',
          'Use a kernel with btrfs (every Debian kernel has it).',
        )
      }
      const version = /v([\d.]+)/.exec((await host.run('btrfs', '--version')) ?? '')?.[1]
      if (!version) return fail('btrfs-progs is not installed', runSetup)
      if (isAtLeast(version, '6.7')) return ok(`btrfs-progs ${version}, with simple quotas`)
      return fail(`btrfs-progs ${version} cannot enable simple quotas`, runSetup)
    },
  },
  {
    name: 'loop devices',
    concerns: 'engine',
    async run(_, { poolSource }) {
      if (poolSource) return ok(`not needed: machines are stored on ${poolSource}`)
      if (await exists('/dev/loop-control')) return ok('available')
      return fail(
        'no /dev/loop-control: the file that stores the machines cannot be mounted',
        'Load the kernel module loop, or set COMPUTER_POOL_SOURCE to a block device.',
      )
    },
  },
  {
    name: 'lxcfs',
    concerns: 'engine',
    async run(host) {
      if (!(await exists('/dev/fuse'))) {
        return fail(
          'no /dev/fuse: machines would see the memory and cores of the host',
          'Load the kernel module fuse.',
        )
      }
      if ((await host.run('lxcfs', '--version')) === null)
        return fail('lxcfs is not installed', runSetup)
      const mounts = (await host.read('/proc/self/mounts')) ?? ''
      return ok(
        / \/var\/lib\/lxcfs fuse/.test(mounts) ? 'running' : 'installed; it starts with the server',
      )
    },
  },
  {
    name: 'disk',
    concerns: 'server',
    async run(_, { dataDir }) {
      const { bavail, bsize } = await statfs(await nearestFolder(dataDir))
      const free = `${((bavail * bsize) / gib).toFixed(1)} GiB free for ${dataDir}`
      const remedy = 'Free some space, or set COMPUTER_DATA to a folder on a larger disk.'
      if (bavail * bsize < 2 * gib) return fail(free, remedy)
      return bavail * bsize < 20 * gib
        ? warn(`${free}: enough for only a few machines`, remedy)
        : ok(free)
    },
  },
  {
    name: 'memory',
    concerns: 'engine',
    async run() {
      const size = `${(totalmem() / gib).toFixed(1)} GiB`
      if (totalmem() < 1.5 * gib)
        return fail(`${size} is too little to run a desktop`, 'Use a host with 4 GiB or more.')
      return totalmem() < 3.5 * gib
        ? warn(`${size}: enough for only one machine`, 'Use a host with 4 GiB or more.')
        : ok(size)
    },
  },
]

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

/** The folder itself or, before the first start, its nearest existing parent. */
async function nearestFolder(path: string): Promise<string> {
  return (await exists(path)) ? path : nearestFolder(dirname(path))
}
