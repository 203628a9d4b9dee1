import { leastKernelLimits, limitPath, mayLiftLimits } from '../kernel-limits.ts'
import { findServer } from '../server-lock.ts'
import { fail, isAtLeast, ok, runSetup, warn, type Check } from './check.ts'

export const kernelChecks: readonly Check[] = [
  {
    name: 'root',
    concerns: 'engine',
    async run() {
      if (process.getuid?.() === 0) return ok('running as root')
      return fail(
        'not running as root, which the engine needs',
        'Run it in a root shell (sudo -i).',
      )
    },
  },
  {
    name: 'kernel',
    concerns: 'engine',
    async run(host) {
      const release = (await host.read('/proc/sys/kernel/osrelease'))?.trim() ?? 'unknown'
      if (!isAtLeast(release, '5.15')) {
        return fail(`Linux ${release} has no idmapped mounts for btrfs`, 'Use Linux 6.7 or later.')
      }
      if (isAtLeast(release, '6.7')) return ok(`Linux ${release}`)
      return warn(
        `Linux ${release} has no simple quotas for btrfs: disk limits of machines may not be enforced`,
        'Use Linux 6.7 or later; Debian 12 has it in bookworm-backports (linux-image-amd64).',
      )
    },
  },
  {
    name: 'user namespaces',
    concerns: 'engine',
    async run(host) {
      const most = Number((await host.read('/proc/sys/user/max_user_namespaces')) ?? 0)
      const works = (await host.run('unshare', '--user', '--map-root-user', 'true')) !== null
      if (most > 0 && works) return ok(`allowed (at most ${most})`)
      return fail(
        'this host does not allow user namespaces',
        'Set user.max_user_namespaces to 65536. In a container, allow it to create user namespaces.',
      )
    },
  },
  {
    name: 'cgroups',
    concerns: 'engine',
    async run(host) {
      const controllers = await readControllers(host)
      const missing = ['memory', 'pids', 'cpu', 'cpuset'].filter((name) => !controllers.has(name))
      if (missing.length === 0) return ok('memory, pids, cpu and cpuset are available')
      return fail(
        `missing cgroup controllers: ${missing.join(', ')}`,
        'Mount cgroups with these controllers enabled (systemd or the package cgroupfs-mount does).',
      )
    },
  },
  {
    name: 'user ids',
    concerns: 'engine',
    async run(host, { uidBase }) {
      for (const file of ['/etc/subuid', '/etc/subgid']) {
        const lines = ((await host.read(file)) ?? '').split('\n').map((line) => line.split(':'))
        const isOurs = ([user, start, count]: string[]) =>
          user === 'root' &&
          Number(start) <= uidBase &&
          Number(start) + Number(count) >= uidBase + 65_536 * 1024
        if (!lines.some(isOurs)) {
          return fail(
            `${file} does not give root enough ids for machines, starting at ${uidBase}`,
            runSetup,
          )
        }
      }
      return ok(`machines use ids from ${uidBase}`)
    },
  },
  {
    name: 'kernel limits',
    concerns: 'engine',
    async run(host, { dataDir }) {
      const low: string[] = []
      for (const [name, least] of Object.entries(leastKernelLimits())) {
        const value = await host.read(limitPath(name))
        if (value === null || Number(value) >= least) continue
        // A start of the server raises what it can.
        const canRaise = (await host.run('test', '-w', limitPath(name))) !== null
        if (!canRaise || findServer(dataDir)) low.push(`${name} is ${value.trim()} (${least})`)
      }
      if (!mayLiftLimits((await host.read('/proc/self/status')) ?? '')) {
        low.push('message queues and pending signals are limited (CAP_SYS_RESOURCE)')
      }
      if (low.length === 0) return ok('high enough that no machine can use up what all share')
      return warn(
        `too low, so that machines can fail or use up what all share: ${low.join(', ')}`,
        'Restart the server. If it cannot raise them, as in a container, set them on the host to the ' +
          'numbers in parentheses, and run the server with CAP_SYS_RESOURCE.',
      )
    },
  },
]

/** Controllers in use in the old hierarchies (a number other than 0 in /proc/cgroups) or the new one. */
async function readControllers(host: Parameters<Check['run']>[0]): Promise<Set<string>> {
  const old = ((await host.read('/proc/cgroups')) ?? '')
    .split('\n')
    .map((line) => line.split('\t'))
    .filter(([, hierarchy, , enabled]) => hierarchy !== '0' && enabled === '1')
    .map(([name]) => name!)
  const unified =
    (await host.read('/sys/fs/cgroup/cgroup.controllers')) ??
    (await host.read('/sys/fs/cgroup/unified/cgroup.controllers')) ??
    ''
  return new Set([...old, ...unified.trim().split(' ')])
}
