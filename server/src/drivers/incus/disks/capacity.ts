import { stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { PoolFull } from '../../machine-driver.ts'
import type { IncusClient } from '../client.ts'
import type { EngineConfig } from '../engine-config.ts'
import { poolFolder } from './host-pool.ts'

export type PoolRoom = { readonly totalBytes: number; readonly freeBytes: number }

/** What is kept for removals and for what guests still write: new disks are refused below. */
const reserveShare = 0.02
const leastReserveBytes = 2 ** 30

export async function measureRoom(
  client: IncusClient,
  { engineDir, pool }: Pick<EngineConfig, 'engineDir' | 'pool'>,
): Promise<PoolRoom> {
  if (engineDir === undefined) return askEngine(client, pool)
  const { blocks, bavail, bfree, bsize } = await statfs(poolFolder(engineDir, pool))
  const totalBytes = blocks * bsize
  const behindBytes = await measureBehind(engineDir, pool, (blocks - bfree) * bsize)
  return { totalBytes, freeBytes: Math.min(bavail * bsize, behindBytes) }
}

export async function ensureRoom(
  client: IncusClient,
  config: Pick<EngineConfig, 'engineDir' | 'pool'>,
): Promise<void> {
  const { totalBytes, freeBytes } = await measureRoom(client, config)
  if (freeBytes < Math.max(totalBytes * reserveShare, leastReserveBytes)) throw new PoolFull()
}

/** The engine tells in words that nothing can be written. */
export function explainFull(error: unknown): unknown {
  if (!(error instanceof Error) || !/no space left on device/i.test(error.message)) return error
  return new PoolFull({ cause: error })
}

async function askEngine(client: IncusClient, pool: string): Promise<PoolRoom> {
  const { space } = await client.get<{ space: { used: number; total: number } }>(
    `/1.0/storage-pools/${pool}/resources`,
  )
  return { totalBytes: space.total, freeBytes: space.total - space.used }
}

/**
 * What the file that holds the pool can still grow, and what it has of room inside already. Unlimited
 * where no file holds it.
 */
async function measureBehind(engineDir: string, pool: string, usedBytes: number): Promise<number> {
  const path = join(engineDir, 'disks', `${pool}.img`)
  const file = await stat(path).catch(() => undefined)
  if (!file) return Infinity
  const { bavail, bsize } = await statfs(path)
  return bavail * bsize + Math.max(0, file.blocks * 512 - usedBytes)
}
