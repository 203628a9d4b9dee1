import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  diskFolder,
  findKernelFolder,
  poolFolder,
  readQuotaMode,
  type HostPool,
} from './host-pool.ts'
import type { EngineConfig } from '../engine-config.ts'

const run = promisify(execFile)

/** What quotas say of one disk. */
export type Quota = { readonly chargedBytes: number; readonly limitBytes: number }

/**
 * Simple quotas count what a machine itself wrote, exactly and for good. The full quota groups that
 * the engine would switch on go inconsistent when subvolumes are deleted, and then hold nothing.
 */
export async function enableSimpleQuotas(
  engineDir: string,
  { pool, warn }: Pick<EngineConfig, 'pool' | 'warn'>,
): Promise<void> {
  const folder = poolFolder(engineDir, pool)
  const mode = await readQuotaMode(await findKernelFolder(folder))
  if (mode === 'squota') return
  if (mode === 'none') {
    try {
      await run('btrfs', ['quota', 'enable', '--simple', folder])
      return
    } catch (error) {
      warn('no simple quotas', { reason: (error as Error).message })
    }
  }
  warn('disk limits rest on full quota groups, which can go inconsistent', { pool: folder })
}

/** The number by which quotas know an instance's disk. */
export async function readDiskId(pool: HostPool, instance: string): Promise<number> {
  const folder = diskFolder(pool, instance)
  const { stdout } = await run('btrfs', ['inspect-internal', 'rootid', folder])
  return Number(stdout)
}

export async function readQuota(pool: HostPool, diskId: number): Promise<Quota> {
  const read = async (name: string) =>
    Number(await readFile(join(pool.kernelFolder, 'qgroups', `0_${diskId}`, name), 'utf8'))
  const [chargedBytes, limitBytes] = await Promise.all([read('referenced'), read('max_referenced')])
  return { chargedBytes, limitBytes: limitBytes > 0 ? limitBytes : Infinity }
}

/** Asked of the pool's own folder: a disk that is full refuses even that. */
export async function setLimit(pool: HostPool, diskId: number, bytes: number): Promise<void> {
  const limit = Number.isFinite(bytes) ? String(Math.round(bytes)) : 'none'
  await run('btrfs', ['qgroup', 'limit', limit, `0/${diskId}`, pool.folder])
}

/**
 * Disks that are gone leave their counts behind. Those of which others keep something stay, and so does,
 * until the next time, what another sweep is just dropping.
 */
export async function dropStaleQuotas(pool: HostPool): Promise<void> {
  await run('btrfs', ['qgroup', 'clear-stale', pool.folder]).catch((error: unknown) => {
    if (!(error instanceof Error && error.message.includes('failed to delete qgroup'))) throw error
  })
}

/** Counts the transactions of the pool's file system. */
export async function readTransaction(pool: HostPool): Promise<number> {
  return Number(await readFile(join(pool.kernelFolder, 'generation'), 'utf8'))
}
