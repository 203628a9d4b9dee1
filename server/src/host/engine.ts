import { mkdir } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { writeLxcTemplate } from './engine-lxc.ts'
import { findProcesses } from './find-processes.ts'

/**
 * The private Incus daemon of one data folder. A supervisor spawns `engineCommand`, restarts it when it
 * ends, and may kill it at any time: machines keep running without the daemon.
 *
 * To stop it, close the streams to guests first (the daemon waits for them, up to
 * core.shutdown_timeout), then call `stopEngine`. Call it before the first spawn as well, to end a daemon
 * that an earlier supervisor left behind and that still holds the socket.
 *
 * lxcfs has a session of its own and outlives us, because running machines depend on it
 * (engine-lxcfs.ts).
 */
export type EngineCommand = {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export const engineBinary = '/usr/libexec/incus/incusd'

export function engineDirectory(dataDir: string): string {
  return join(dataDir, 'engine')
}

export function engineSocketPath(dataDir: string): string {
  return join(engineDirectory(dataDir), 'unix.socket')
}

/** Makes the engine's folder and templates. Call this before every spawn; it is idempotent. */
export async function prepareEngineFiles(dataDir: string): Promise<void> {
  // The kernel has 108 bytes for the path of a unix socket, including a terminating zero.
  const socketPath = engineSocketPath(dataDir)
  const bytes = Buffer.byteLength(socketPath)
  if (bytes > 107) {
    throw new Error(
      `the path of the engine's socket ${socketPath} has ${bytes} bytes, but only 107 are possible: ` +
        `choose a data folder whose path is ${bytes - 107} bytes shorter`,
    )
  }
  await mkdir(join(engineDirectory(dataDir), 'logs'), { recursive: true, mode: 0o711 })
  await writeLxcTemplate(templateDirectory(dataDir))
}

export function engineCommand(dataDir: string): EngineCommand {
  return {
    command: engineBinary,
    args: ['--group', 'root', '--logfile', join(engineDirectory(dataDir), 'logs', 'incusd.log')],
    env: {
      INCUS_DIR: engineDirectory(dataDir),
      INCUS_LXC_TEMPLATE_CONFIG: templateDirectory(dataDir),
      PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      HOME: '/root',
    },
  }
}

/** Resolves when the daemon has loaded its machines and accepts calls. */
export async function waitEngineReady(
  dataDir: string,
  options: { readonly timeoutMs: number; readonly signal?: AbortSignal } = { timeoutMs: 60_000 },
): Promise<void> {
  const deadline = Date.now() + options.timeoutMs
  while (!(await isReady(engineSocketPath(dataDir)))) {
    options.signal?.throwIfAborted()
    if (Date.now() > deadline) {
      throw new Error(`the engine was not ready after ${options.timeoutMs} ms`)
    }
    await sleep(50)
  }
}

/**
 * Stops the daemon of this data folder, even if another process started it, and kills it after
 * `graceMs`. Resolves when it is gone. Machines keep running either way.
 */
export async function stopEngine(
  dataDir: string,
  options: { readonly graceMs: number } = { graceMs: 10_000 },
): Promise<void> {
  const deadline = Date.now() + options.graceMs
  let signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'
  let pid = await findEngine(dataDir)
  if (pid !== undefined) signalProcess(pid, signal)
  while ((pid = await findEngine(dataDir)) !== undefined) {
    if (signal === 'SIGTERM' && Date.now() > deadline) signalProcess(pid, (signal = 'SIGKILL'))
    await sleep(20)
  }
}

/** The process id of this data folder's daemon, recognized by its exact command line. */
export async function findEngine(dataDir: string): Promise<number | undefined> {
  const { command, args } = engineCommand(dataDir)
  const wanted = [command, ...args].join('\0')
  const [pid] = await findProcesses(
    (seen) => seen.join('\0') === wanted,
    (path) => path.startsWith(command),
  )
  return pid
}

function templateDirectory(dataDir: string): string {
  return join(engineDirectory(dataDir), 'lxc-config')
}

function isReady(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const call = request({ socketPath, path: '/internal/ready', timeout: 5_000 }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    call.on('timeout', () => call.destroy())
    call.on('error', () => resolve(false))
    call.end()
  })
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
