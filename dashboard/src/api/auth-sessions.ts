import { infiniteQueryOptions } from '@tanstack/react-query'
import { computer } from './client.ts'
import { queryClient } from './query-client.ts'

/** The person's browsers that are signed in, newest first. */
export const authSessionsQuery = infiniteQueryOptions({
  queryKey: ['auth-sessions'] as const,
  queryFn: async ({ signal, pageParam: cursor }) =>
    computer.auth.listSessions({ limit: 25, cursor, signal }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
})

export async function revokeAuthSession(authSessionId: string): Promise<void> {
  await computer.auth.revokeSession(authSessionId)
  await refreshAuthSessions()
}

export async function refreshAuthSessions(): Promise<void> {
  await queryClient.invalidateQueries(authSessionsQuery)
}
