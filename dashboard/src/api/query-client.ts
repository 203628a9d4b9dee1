import { ApiError } from '@computer/sdk'
import { QueryClient } from '@tanstack/react-query'

/** A machine that starts answers within this time. */
const unavailableTries = 120

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // Events of the gateway tell what has changed; this bounds how long a missed one matters.
      staleTime: 30_000,
      retry: (tries, error) => isUnavailable(error) && tries < unavailableTries,
      retryDelay: 1_000,
    },
    mutations: { retry: false },
  },
})

/** The machine or its desktop is still starting: the call will succeed later. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'compute_unavailable'
}

/** The server cannot be reached at the moment, or not yet do it: a later attempt may succeed. */
export function isTransient(error: unknown): boolean {
  return isUnavailable(error) || (error instanceof ApiError && error.code === 'connection_failed')
}
