import type { UsageRecord } from '@computer/sdk'
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { computer } from './client.ts'
import { queryClient } from './query-client.ts'

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

type Grouping = { readonly by: 'machine' | 'key' } | { readonly by: 'label'; readonly key: string }

/** The sum of each meter of each machine (the newest first), caller, or value of a label. */
export function usageSumsQuery(of: UsageOf, grouping: Grouping) {
  const labelKey = grouping.by === 'label' ? grouping.key : undefined
  return infiniteQueryOptions({
    queryKey: ['usage', 'sums', of, grouping] as const,
    queryFn: async ({ signal, pageParam: cursor }) =>
      computer.usage.list({ ...of, groupBy: grouping.by, labelKey, limit: 100, cursor, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    // Rows of other groups would stand under the wrong head.
    placeholderData: (before, query) =>
      query?.queryKey[3].by === grouping.by ? before : undefined,
  })
}

/** The keys of metadata that usage is counted by. */
export const usageLabelsQuery = queryOptions({
  queryKey: ['usage', 'labels'] as const,
  queryFn: async ({ signal }) => computer.usage.labels({ signal }),
})

export async function setUsageLabels(keys: readonly string[]): Promise<void> {
  await computer.usage.setLabels({ keys: [...keys] })
  await queryClient.invalidateQueries({ queryKey: ['usage'] })
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
