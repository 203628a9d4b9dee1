import { formatMemory } from '../../format.ts'

/** Such as "2 vCPU · 4 GB · 20 GB disk". */
export function formatSize({
  cpu,
  memoryMb,
  diskGb,
}: {
  readonly cpu: number
  readonly memoryMb: number
  readonly diskGb: number
}): string {
  return `${cpu} vCPU · ${formatMemory(memoryMb)} · ${diskGb} GB disk`
}
