import { freemem, totalmem } from 'node:os'
import type { HostMemory } from '../machine-driver.ts'
import type { IncusClient } from './client.ts'

/** Of this host. What the kernel can take back from caches counts as available. */
export function readMemory(): HostMemory {
  return { totalBytes: totalmem(), availableBytes: freemem() }
}

/** Of an engine elsewhere, which leaves caches out of what it counts as used. */
export async function readMemoryFromEngine(client: IncusClient): Promise<HostMemory> {
  const { memory } = await client.get<{ memory: { used: number; total: number } }>('/1.0/resources')
  return { totalBytes: memory.total, availableBytes: memory.total - memory.used }
}
