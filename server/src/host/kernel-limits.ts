import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { join } from 'node:path'

/*
 * Limits of the kernel that all machines and the host's root share, in the notation of sysctl. Most of
 * what they count is memory that the kernel charges to the machine, and then they are so high that a
 * machine runs out of its own memory first. docs/decisions/0016 has the costs and the exceptions.
 */
const beyondMemory = 2_147_483_647
const namespaces = ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'time', 'user', 'uts']

export function leastKernelLimits(memoryBytes = totalmem()): Readonly<Record<string, number>> {
  const gib = Math.ceil(memoryBytes / 2 ** 30)
  return {
    ...Object.fromEntries(namespaces.map((kind) => [`user.max_${kind}_namespaces`, beyondMemory])),
    'fs.inotify.max_user_instances': beyondMemory,
    'fs.inotify.max_user_watches': beyondMemory,
    'fs.fanotify.max_user_groups': beyondMemory,
    'fs.fanotify.max_user_marks': beyondMemory,
    'fs.aio-max-nr': beyondMemory,
    'fs.file-max': beyondMemory,
    'kernel.pid_max': 4_194_304,
    'kernel.threads-max': 4_194_304,
    // Not charged: 24 KB each. A machine has 1,024, but its root can mount more of them.
    'kernel.pty.max': Math.min(gib * 2_048, 1_048_576),
    'net.ipv4.ip_forward': 1,
    'net.bridge.bridge-nf-call-ip6tables': 1,
    // Not charged: half a KB each.
    'net.ipv4.neigh.default.gc_thresh2': 131_072,
    'net.ipv4.neigh.default.gc_thresh3': 262_144,
    // Not charged: 320 bytes each. A machine has 4,096 (drivers/incus/host-firewall.ts).
    'net.netfilter.nf_conntrack_max': Math.max(gib * 8_192, 262_144),
  }
}

/** Raises the limits that are lower, as far as this host permits. `computer doctor` names the others. */
export async function raiseKernelLimits(
  limits = leastKernelLimits(),
  folder = '/proc/sys',
): Promise<void> {
  for (const [name, least] of Object.entries(limits)) {
    const path = limitPath(name, folder)
    const value = await readFile(path, 'utf8').then(Number, () => Infinity)
    if (value < least) await writeFile(path, String(least)).catch(() => {})
  }
}

export function limitPath(name: string, folder = '/proc/sys'): string {
  return join(folder, name.replaceAll('.', '/'))
}

/**
 * Runs the engine without limits of its own on what all users of a machine hold together: the kernel
 * counts it for all machines at once, against the limits of the process that starts a machine. What a
 * machine holds is charged to its memory.
 */
export function withSharedLimits(
  argv: readonly string[],
  status = readFileSync('/proc/self/status', 'utf8'),
): readonly string[] {
  if (!mayLiftLimits(status)) return argv
  const lifted = ['msgqueue', 'sigpending', 'memlock'].map((name) => `--${name}=unlimited`)
  return ['prlimit', ...lifted, '--', ...argv]
}

const resourceCapability = 24n

/** A process with this status has CAP_SYS_RESOURCE, which root does not have on every host. */
export function mayLiftLimits(status: string): boolean {
  const capabilities = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`)
  return ((capabilities >> resourceCapability) & 1n) === 1n
}
