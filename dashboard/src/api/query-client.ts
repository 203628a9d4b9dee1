import { ApiError } from '@computer/sdk'
import { QueryClient, type QueryKey } from '@tanstack/react-query'

/** A machine that starts answers within this time. */
const unavailableTries = 120

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // The server may run on this very computer, which needs no network to reach it.
      networkMode: 'always',
      // Events of the gateway tell what has changed; this bounds how long a missed one matters.
      staleTime: 30_000,
      retry: (tries, error) => isUnavailable(error) && tries < unavailableTries,
      retryDelay: 1_000,
    },
    mutations: { networkMode: 'always', retry: false },
  },
})

/**
 * Changes what the cache holds under keys that begin so. It stays as old as it was: a list that has to be read
 * again, because it may have gained a record, still has to.
 */
export function patchData<T>(queryKey: QueryKey, change: (data: T) => T): void {
  for (const query of queryClient.getQueryCache().findAll({ queryKey })) {
    const { data, dataUpdatedAt, isInvalidated } = query.state
    if (data === undefined) continue
    const next = change(data as T)
    if (next === data) continue
    queryClient.setQueryData(query.queryKey, next, { updatedAt: dataUpdatedAt })
    if (isInvalidated) query.invalidate()
  }
}

/** The machine or its desktop is still starting: the call will succeed later. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'compute_unavailable'
}

/** The server cannot be reached at the moment, or not yet do it: a later attempt may succeed. */
export function isTransient(error: unknown): boolean {
  return isUnavailable(error) || (error instanceof ApiError && error.code === 'connection_failed')
}
