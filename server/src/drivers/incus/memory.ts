import { freemem, totalmem } from 'node:os'
import type { HostMemory } from '../machine-driver.ts'
import type { IncusClient } from './client.ts'

/** The memory of this host. Caches that the kernel can give up count as available. */
export function readMemory(): HostMemory {
  return { totalBytes: totalmem(), availableBytes: freemem() }
}

/** The memory of the host of an engine elsewhere, which does not count caches as used. */
export async function readMemoryFromEngine(client: IncusClient): Promise<HostMemory> {
  const { memory } = await client.get<{ memory: { used: number; total: number } }>('/1.0/resources')
  return { totalBytes: memory.total, availableBytes: memory.total - memory.used }
}
