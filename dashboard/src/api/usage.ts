import type { UsageRecord } from '@computer/sdk'
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { computer } from './client.ts'

/** A time, by default the current billing period, and a machine, by default all. */
export type UsageOf = {
  readonly start?: string | undefined
  readonly end?: string | undefined
  readonly machineId?: string | undefined
}

const minuteMs = 60_000

/** The usage of all meters in buckets of an hour or a day, oldest first. */
export function usageSeriesQuery(of: UsageOf) {
  return queryOptions({
    queryKey: ['usage', 'series', of] as const,
    queryFn: async ({ signal }) => computer.usage.series({ ...of, signal }),
    refetchInterval: minuteMs,
    placeholderData: keepPreviousData,
  })
}

/** The sum of each meter of each machine, the newest machine first. */
export function usageByMachineQuery(of: UsageOf) {
  return infiniteQueryOptions({
    queryKey: ['usage', 'machines', of] as const,
    queryFn: async ({ signal, pageParam: cursor }) =>
      computer.usage.list({ ...of, groupBy: 'machine', limit: 100, cursor, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    placeholderData: keepPreviousData,
  })
}

/** What one machine used of each meter. */
export function machineUsageQuery(machineId: string) {
  return queryOptions({
    queryKey: ['machine', machineId, 'usage'] as const,
    queryFn: async ({ signal }): Promise<readonly UsageRecord[]> =>
      computer.usage.list({ machineId, groupBy: 'machine', limit: 100, signal }).all(),
    refetchInterval: minuteMs,
  })
}
