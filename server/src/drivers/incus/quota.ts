import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Simple quotas count what a machine itself wrote, exactly and for good. The full quota groups that
 * the engine would switch on go inconsistent when subvolumes are deleted, and then hold nothing.
 */
export async function enableSimpleQuotas(
  poolDir: string,
  warn: (message: string, fields: Readonly<Record<string, unknown>>) => void,
): Promise<void> {
  const mode = await quotaMode(poolDir)
  if (mode === 'squota') return
  if (mode === 'none') {
    try {
      await run('btrfs', ['quota', 'enable', '--simple', poolDir])
      return
    } catch (error) {
      warn('no simple quotas', { reason: (error as Error).message })
    }
  }
  warn('disk limits rest on full quota groups, which can go inconsistent', { pool: poolDir })
}

async function quotaMode(poolDir: string): Promise<string> {
  const { stdout } = await run('findmnt', ['-n', '-o', 'UUID', '--target', poolDir])
  const path = `/sys/fs/btrfs/${stdout.trim()}/qgroups/mode`
  // The folder is there while quotas are on.
  return readFile(path, 'utf8').then(
    (text) => text.trim(),
    () => 'none',
  )
}
