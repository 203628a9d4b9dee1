import { readFile } from 'node:fs/promises'
import type { HostMemory } from '../machine-driver.ts'
import type { IncusClient } from './client.ts'

const kib = 1024

/** Of this host. The kernel counts as available what it can take back from caches. */
export async function readMemory(): Promise<HostMemory> {
  const text = await readFile('/proc/meminfo', 'latin1')
  const read = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]) * kib
  return { totalBytes: read('MemTotal'), availableBytes: read('MemAvailable') }
}

/** Of an engine elsewhere, which leaves caches out of what it counts as used. */
export async function readMemoryFromEngine(client: IncusClient): Promise<HostMemory> {
  const { memory } = await client.get<{ memory: { used: number; total: number } }>('/1.0/resources')
  return { totalBytes: memory.total, availableBytes: memory.total - memory.used }
}
