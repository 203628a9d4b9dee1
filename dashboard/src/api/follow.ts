import { ApiError, type Subscription } from '@computer/sdk'
import { isTransient, queryClient } from './query-client.ts'
import { sessionQuery } from './session.ts'

/** Between a subscription that has failed and the next. One that was open reconnects by itself for longer. */
const againMs = 5_000

/**
 * Follows a feed until the signal is aborted or its machine is gone, whatever becomes of the connection. `onReady`
 * is called for each subscription: nobody told what happened before it.
 */
export async function follow<Entry>(
  {
    subscribe,
    onReady,
    onEntry,
  }: {
    readonly subscribe: () => Subscription<Entry>
    readonly onReady: (isFirst: boolean) => void
    readonly onEntry: (entry: Entry) => void
  },
  signal: AbortSignal,
): Promise<void> {
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    try {
      const entries = subscribe()
      await entries.ready
      onReady(isFirst)
      for await (const entry of entries) onEntry(entry)
    } catch (error) {
      if (signal.aborted || isGone(error)) return
      // The credential ended, or the membership: the session says which.
      if (!isTransient(error)) await queryClient.invalidateQueries(sessionQuery)
    }
    await new Promise((resolve) => setTimeout(resolve, againMs))
  }
}

function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'not_found'
}
