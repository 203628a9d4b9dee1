import { spawnSync } from 'node:child_process'

/**
 * Locks an open file with the options of flock, and returns whether that succeeded. Node cannot lock a file, but a lock
 * that flock takes on an inherited descriptor stays with it. The kernel releases it when the descriptor is closed,
 * however its process ends.
 */
export function tryLock(file: number, options: readonly string[]): boolean {
  const stdio = ['ignore', 'ignore', 'inherit', file] as const
  const { status, error } = spawnSync('flock', [...options, '3'], { stdio: [...stdio] })
  if (error) throw new Error('could not run flock; install util-linux', { cause: error })
  return status === 0
}
