import type { Activity } from '@computer/sdk'
import { queryOptions } from '@tanstack/react-query'
import { addOlderPage, joinLogs, readNewest, type Log } from './log.ts'
import { machineHandle } from './machines.ts'
import { queryClient } from './query-client.ts'

/** The activity of a machine, as far as it is loaded. */
export type ActivityLog = Log<Activity>

const pageSize = 100
/** Several processes write activity, each a moment after it was done, or later if the database was away. */
const lateMs = 5_000

/** All activity, or that of one type. */
export function machineActivityQuery(machineId: string, type?: string) {
  const queryKey = ['machine', machineId, 'activity', type ?? 'all'] as const
  const known = () => queryClient.getQueryData<ActivityLog>(queryKey)
  return queryOptions({
    queryKey,
    queryFn: async ({ signal }): Promise<ActivityLog> => {
      const { activity } = await machineHandle(machineId)
      const read = await readNewest(
        (cursor) => activity.list({ type, limit: pageSize, cursor, signal }),
        known(),
        lateMs,
      )
      // The log may have grown at its end meanwhile.
      return joinLogs(read, known())
    },
  })
}

/** Adds the next older page to the log. */
export async function loadOlderActivity(machineId: string, type?: string): Promise<void> {
  const { queryKey } = machineActivityQuery(machineId, type)
  const cursor = queryClient.getQueryData(queryKey)?.olderCursor
  if (!cursor) return
  const { activity } = await machineHandle(machineId)
  const page = await activity.list({ type, limit: pageSize, cursor })
  queryClient.setQueryData(queryKey, (log) => addOlderPage(log, cursor, page))
}
