import { execFile, spawn } from 'node:child_process'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

export const lxcfsMountPoint = '/var/lib/lxcfs'

/** By it, our process is told from one that the distribution has started. */
export const lxcfsCommand = [
  'lxcfs',
  '--enable-cfs',
  '--enable-pidfd',
  '-l',
  '-p',
  '/run/lxcfs.pid',
  lxcfsMountPoint,
]

/**
 * lxcfs shows each machine its own memory, cores and load in /proc. One process serves the whole host.
 * We start it only if none is mounted, in a session of its own, and never stop or restart it while machines run
 * (`computer uninstall` stops it): when it ends, running machines lose those files until their next start.
 */
export async function ensureLxcfs(options: { readonly timeoutMs: number } = { timeoutMs: 10_000 }) {
  if (await isMounted()) {
    if (await answers()) return
    // Its process died. Running machines keep the broken files until their next start.
    await promisify(execFile)('umount', ['--lazy', lxcfsMountPoint])
  }
  await mkdir(lxcfsMountPoint, { recursive: true })
  const [program, ...args] = lxcfsCommand
  const child = spawn(program!, args, { detached: true, stdio: 'ignore', cwd: '/' })
  const failure = new Promise<never>((_, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`lxcfs exited with code ${code} while starting`)))
  })
  await Promise.race([failure, waitMounted(Date.now() + options.timeoutMs)])
  child.removeAllListeners()
  child.unref()
}

async function waitMounted(deadline: number): Promise<void> {
  while (!(await isMounted())) {
    if (Date.now() > deadline) throw new Error(`lxcfs did not mount ${lxcfsMountPoint}`)
    await sleep(20)
  }
}

async function isMounted(): Promise<boolean> {
  const mounts = await readFile('/proc/self/mounts', 'utf8')
  return mounts.split('\n').some((line) => line.split(' ')[1] === lxcfsMountPoint)
}

async function answers(): Promise<boolean> {
  return readdir(lxcfsMountPoint).then(
    () => true,
    () => false,
  )
}
