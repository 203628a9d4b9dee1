import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { tryLock } from '../file-lock.ts'

/** The running server, as its lock file describes it. */
export type RunningServer = {
  readonly pid: number
  readonly address: string
  /** The base of its links for people. A server of an earlier version names none. */
  readonly dashboardUrl?: string
}

export class ServerRunsError extends Error {
  override name = 'ServerRunsError'
  readonly server: RunningServer | null

  constructor(server: RunningServer | null) {
    super(
      server
        ? `a server is already running on this data folder: process ${server.pid}, ${server.address}`
        : 'another server is starting on this data folder',
    )
    this.server = server
  }
}

/** Longer than another process takes to find out whether the folder is locked, which locks it as well. */
const probeSeconds = 1

/**
 * Locks the data folder for this process. The kernel releases the lock however the process ends, so a
 * lock is never stale. Throws ServerRunsError when another process has it.
 */
export function lockDataDir(dataDir: string, addresses: Omit<RunningServer, 'pid'>): Disposable {
  const runDir = join(dataDir, 'run')
  mkdirSync(runDir, { recursive: true, mode: 0o700 })
  const file = openSync(lockPath(dataDir), 'a+', 0o600)
  if (!tryLock(file, ['--exclusive', '--timeout', String(probeSeconds)])) {
    closeSync(file)
    throw new ServerRunsError(readOwner(dataDir))
  }
  ftruncateSync(file)
  writeSync(file, JSON.stringify({ pid: process.pid, ...addresses } satisfies RunningServer))
  return {
    [Symbol.dispose]() {
      ftruncateSync(file)
      closeSync(file)
    },
  }
}

/** The server that has locked the data folder, or null. It is null too while a server begins or ends. */
export function findServer(dataDir: string): RunningServer | null {
  return isDataDirLocked(dataDir) ? readOwner(dataDir) : null
}

export function isDataDirLocked(dataDir: string): boolean {
  let file: number
  try {
    file = openSync(lockPath(dataDir), 'r')
  } catch {
    return false
  }
  try {
    return !tryLock(file, ['--shared', '--nonblock'])
  } finally {
    closeSync(file)
  }
}

function readOwner(dataDir: string): RunningServer | null {
  try {
    return JSON.parse(readFileSync(lockPath(dataDir), 'utf8')) as RunningServer
  } catch {
    return null
  }
}

function lockPath(dataDir: string): string {
  return join(dataDir, 'run', 'server.lock')
}
