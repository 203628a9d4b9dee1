import type { UsageSample } from '../../../api/usage-now.ts'

/** Longer than this without a sample is drawn as a gap: nothing is known of that time. */
const gapMs = 15_000

/** Times in seconds, processors in percent, memory in percent: the columns of the chart. */
export function columnsOf(
  samples: readonly UsageSample[],
  memoryMb: number,
): [number[], (number | null)[], (number | null)[]] {
  const times: number[] = []
  const cpu: (number | null)[] = []
  const memory: (number | null)[] = []
  for (const [index, { at, cpuPercent, memoryUsedMb }] of samples.entries()) {
    const before = samples[index - 1]?.at
    if (before !== undefined && at - before > gapMs) {
      times.push((before + at) / 2_000)
      cpu.push(null)
      memory.push(null)
    }
    times.push(at / 1_000)
    cpu.push(cpuPercent)
    memory.push((memoryUsedMb / memoryMb) * 100)
  }
  return [times, cpu, memory]
}
