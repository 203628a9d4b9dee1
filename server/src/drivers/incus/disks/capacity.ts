import { stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { PoolFull } from '../../machine-driver.ts'
import type { IncusClient } from '../client.ts'
import type { EngineConfig } from '../engine-config.ts'
import { commit } from './btrfs.ts'
import { poolFolder } from './host-pool.ts'

export type PoolCapacity = { readonly totalBytes: number; readonly freeBytes: number }

/** New disks are refused below this reserve, which removals and the writes of guests need. */
const reserveShare = 0.02
const leastReserveBytes = 2 ** 30

export async function measureCapacity(
  client: IncusClient,
  { engineDir, pool }: Pick<EngineConfig, 'engineDir' | 'pool'>,
): Promise<PoolCapacity> {
  if (engineDir === undefined) return readFromEngine(client, pool)
  const { blocks, bavail, bfree, bsize } = await statfs(poolFolder(engineDir, pool))
  const totalBytes = blocks * bsize
  const behindBytes = await measureBackingFile(engineDir, pool, (blocks - bfree) * bsize)
  return { totalBytes, freeBytes: Math.min(bavail * bsize, behindBytes) }
}

/** Throws PoolFull if less than the reserve is free. */
export async function requireFreeSpace(
  client: IncusClient,
  config: Pick<EngineConfig, 'engineDir' | 'pool'>,
): Promise<void> {
  const isEnough = async () => {
    const { totalBytes, freeBytes } = await measureCapacity(client, config)
    return freeBytes >= Math.max(totalBytes * reserveShare, leastReserveBytes)
  }
  if (await isEnough()) return
  // Space that was just freed is missing from the count until the next commit, which btrfs makes every
  // 30 s. A pool without any space may refuse to commit.
  if (config.engineDir !== undefined) {
    await commit(poolFolder(config.engineDir, config.pool)).catch(() => {})
    if (await isEnough()) return
  }
  throw new PoolFull()
}

/** The engine reports a full pool only in the text of an error. */
export function asPoolFull(error: unknown): unknown {
  if (!(error instanceof Error) || !/no space left on device/i.test(error.message)) return error
  return new PoolFull({ cause: error })
}

async function readFromEngine(client: IncusClient, pool: string): Promise<PoolCapacity> {
  const { space } = await client.get<{ space: { used: number; total: number } }>(
    `/1.0/storage-pools/${pool}/resources`,
  )
  return { totalBytes: space.total, freeBytes: space.total - space.used }
}

/**
 * The space behind the pool: how far its backing file can still grow on the host's disk, plus what it
 * has allocated and does not use. Unlimited without a backing file.
 */
async function measureBackingFile(
  engineDir: string,
  pool: string,
  usedBytes: number,
): Promise<number> {
  const path = join(engineDir, 'disks', `${pool}.img`)
  const file = await stat(path).catch(() => undefined)
  if (!file) return Infinity
  const { bavail, bsize } = await statfs(path)
  return bavail * bsize + Math.max(0, file.blocks * 512 - usedBytes)
}
