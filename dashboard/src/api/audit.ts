import type { AuditEventType } from '@computer/sdk'
import { infiniteQueryOptions } from '@tanstack/react-query'
import { computer } from './client.ts'

/** The audit log, newest first: all of it, or the events of one type. */
export function auditQuery(type: AuditEventType | undefined) {
  return infiniteQueryOptions({
    queryKey: ['audit', type ?? 'all'] as const,
    queryFn: async ({ signal, pageParam: cursor }) =>
      computer.auditEvents.list({ type, limit: 50, cursor, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    // The log is read to see what has just happened.
    staleTime: 0,
  })
}
