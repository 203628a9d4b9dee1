import { mkdir } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { writeLxcTemplate } from './engine-lxc.ts'
import { findProcesses } from './find-processes.ts'

/**
 * The private Incus daemon of one data folder. A supervisor spawns `engineCommand`, restarts it when
 * it ends, and is free to kill it: machines do not depend on the daemon and run on without it.
 *
 * To stop it, close the streams to guests first (the daemon waits for them, up to
 * core.shutdown_timeout), then `stopEngine`. A daemon that an earlier supervisor left behind holds
 * the socket: `stopEngine` before the first spawn ends that one too.
 *
 * lxcfs is not part of it: every running machine breaks when lxcfs ends, so it has a session of its
 * own and outlives us (engine-lxcfs.ts).
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

/** The engine's folder and its templates. Before every spawn; safe to repeat. */
export async function prepareEngineFiles(dataDir: string): Promise<void> {
  // The kernel keeps 108 bytes for a unix socket's path, the last of them a zero.
  const socketPath = engineSocketPath(dataDir)
  const bytes = Buffer.byteLength(socketPath)
  if (bytes > 107) {
    throw new Error(
      `the engine's socket ${socketPath} has a path of ${bytes} bytes and 107 are possible: ` +
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

/** Resolves when the daemon has loaded its machines and takes calls. */
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
 * Ends the daemon of this data folder, whoever started it; machines run on. Resolves when it is
 * gone. One that is still there after `graceMs` is killed, which harms no machine.
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

/** The process id of this data folder's daemon, known by its exact command line. */
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
