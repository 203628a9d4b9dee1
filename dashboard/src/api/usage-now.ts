import type { MachineUsage } from '@computer/sdk'
import { queryOptions } from '@tanstack/react-query'
import { machineHandle } from './machines.ts'
import { queryClient } from './query-client.ts'

export type UsageSample = MachineUsage & {
  /** Milliseconds of the browser's clock. */
  readonly at: number
}

const sampleMs = 5_000
/** Ten minutes of samples. */
const maxSamples = 120

/**
 * What a running machine uses now, and what it used while the page was open, oldest first. Nothing is asked
 * while the page is hidden, so the samples may have gaps.
 */
export function usageNowQuery(machineId: string) {
  const queryKey = ['machine', machineId, 'usage-now'] as const
  return queryOptions({
    queryKey,
    queryFn: async ({ signal }): Promise<readonly UsageSample[]> => {
      const usage = await (await machineHandle(machineId)).usage({ signal })
      const before = queryClient.getQueryData<readonly UsageSample[]>(queryKey) ?? []
      return [...before, { ...usage, at: Date.now() }].slice(-maxSamples)
    },
    staleTime: sampleMs,
    refetchInterval: sampleMs,
  })
}
