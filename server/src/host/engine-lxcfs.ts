import { execFile, spawn } from 'node:child_process'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const mountPoint = '/var/lib/lxcfs'

/**
 * lxcfs shows each machine its own memory, cores and load in /proc. One serves the whole host. It is
 * started only where none is mounted, in a session of its own, and never stopped or restarted by us:
 * a machine that was started on it loses those files for good when it ends.
 */
export async function ensureLxcfs(options: { readonly timeoutMs: number } = { timeoutMs: 10_000 }) {
  if (await isMounted()) {
    if (await answers()) return
    // Its process died. Machines that run now keep the broken files until their next start.
    await promisify(execFile)('umount', ['--lazy', mountPoint])
  }
  await mkdir(mountPoint, { recursive: true })
  const child = spawn(
    'lxcfs',
    ['--enable-cfs', '--enable-pidfd', '-l', '-p', '/run/lxcfs.pid', mountPoint],
    { detached: true, stdio: 'ignore', cwd: '/' },
  )
  const failure = new Promise<never>((_, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`lxcfs ended with code ${code} at its start`)))
  })
  await Promise.race([failure, waitMounted(Date.now() + options.timeoutMs)])
  child.removeAllListeners()
  child.unref()
}

async function waitMounted(deadline: number): Promise<void> {
  while (!(await isMounted())) {
    if (Date.now() > deadline) throw new Error(`lxcfs did not mount ${mountPoint}`)
    await sleep(20)
  }
}

async function isMounted(): Promise<boolean> {
  const mounts = await readFile('/proc/self/mounts', 'utf8')
  return mounts.split('\n').some((line) => line.split(' ')[1] === mountPoint)
}

async function answers(): Promise<boolean> {
  return readdir(mountPoint).then(
    () => true,
    () => false,
  )
}
