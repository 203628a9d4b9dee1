import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { ensureLxcfs } from './engine-lxcfs.ts'
import { raiseKernelLimits } from './kernel-limits.ts'

const run = promisify(execFile)

/** Prepares the kernel for an engine on this host. Call this before every spawn; it is idempotent. */
export async function prepareKernel(): Promise<void> {
  // The engine's filters need br_netfilter, and the settings of a module exist once it is loaded.
  await run('modprobe', ['-a', '-q', 'br_netfilter', 'nf_conntrack']).catch(() => {})
  await raiseKernelLimits()
  await ensureLxcfs()
  await ensureFuseControl()
}

const fuseControl = '/sys/fs/fuse/connections'

/**
 * Mounts the control files of FUSE, as systemd does. Through them, a stop ends processes that wait for a
 * file system of their own (drivers/incus/fuse.ts).
 */
async function ensureFuseControl(): Promise<void> {
  const mounts = await readFile('/proc/self/mounts', 'utf8')
  if (mounts.includes(` ${fuseControl} fusectl `)) return
  await run('mount', ['-t', 'fusectl', 'fusectl', fuseControl])
}
