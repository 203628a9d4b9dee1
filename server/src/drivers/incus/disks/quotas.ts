import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  diskFolder,
  findSysfsFolder,
  poolFolder,
  readQuotaMode,
  type HostPool,
} from './host-pool.ts'
import type { EngineConfig } from '../engine-config.ts'

const run = promisify(execFile)

export type Quota = { readonly chargedBytes: number; readonly limitBytes: number }

/**
 * Simple quotas count exactly what each machine itself wrote. The full quota groups that the engine
 * would enable become inconsistent when subvolumes are deleted, and then enforce nothing.
 */
export async function enableSimpleQuotas(
  engineDir: string,
  { pool, warn }: Pick<EngineConfig, 'pool' | 'warn'>,
): Promise<void> {
  const folder = poolFolder(engineDir, pool)
  const mode = await readQuotaMode(await findSysfsFolder(folder))
  if (mode === 'squota') return
  if (mode === 'none') {
    try {
      await run('btrfs', ['quota', 'enable', '--simple', folder])
      return
    } catch (error) {
      warn('could not enable simple quotas on the pool', { reason: (error as Error).message })
    }
  }
  warn('disk limits use full quota groups, which can become inconsistent', { pool: folder })
}

/** The subvolume id of an instance's disk, which is also its quota group. */
export async function readDiskId(pool: HostPool, instance: string): Promise<number> {
  const folder = diskFolder(pool, instance)
  const { stdout } = await run('btrfs', ['inspect-internal', 'rootid', folder])
  return Number(stdout)
}

export async function readQuota(pool: HostPool, diskId: number): Promise<Quota> {
  const read = async (name: string) =>
    Number(await readFile(join(pool.sysfsFolder, 'qgroups', `0_${diskId}`, name), 'utf8'))
  const [chargedBytes, limitBytes] = await Promise.all([read('referenced'), read('max_referenced')])
  return { chargedBytes, limitBytes: limitBytes > 0 ? limitBytes : Infinity }
}

/** Set through the pool's folder, because a full disk refuses even this call. */
export async function setLimit(pool: HostPool, diskId: number, bytes: number): Promise<void> {
  const limit = Number.isFinite(bytes) ? String(Math.round(bytes)) : 'none'
  await run('btrfs', ['qgroup', 'limit', limit, `0/${diskId}`, pool.folder])
}

/**
 * Drops the quota groups of removed disks. Groups whose data other disks share stay, and one that a
 * concurrent sweep is dropping may stay until the next call.
 */
export async function dropStaleQuotas(pool: HostPool): Promise<void> {
  await run('btrfs', ['qgroup', 'clear-stale', pool.folder]).catch((error: unknown) => {
    if (!(error instanceof Error && error.message.includes('failed to delete qgroup'))) throw error
  })
}

/** The transaction counter of the pool's file system. */
export async function readTransaction(pool: HostPool): Promise<number> {
  return Number(await readFile(join(pool.sysfsFolder, 'generation'), 'utf8'))
}
