import type { Activity } from '@computer/sdk'
import { useEffect } from 'react'
import { machineActivityQuery } from './activity.ts'
import { follow } from './follow.ts'
import { knownMachine } from './machines.ts'
import { queryClient } from './query-client.ts'

/** At most one refresh in this time, after the first. */
const refreshMs = 1_000

/**
 * Keeps the activity of a machine current while the component shows it. An entry that arrives has the log read
 * again and is not added to it, so an entry that arrives twice is shown once.
 */
export function useLiveActivity(
  machineId: string,
  type: string | undefined,
  /** It is shown, and was read: a refresh that is asked for during the first read would not take place. */
  isShown: boolean,
): void {
  useEffect(() => {
    if (!isShown) return undefined
    const leaving = new AbortController()
    const { signal } = leaving
    const { activity } = knownMachine(machineId)
    const { queryKey } = machineActivityQuery(machineId, type)
    const refresh = oneAtATime(() => queryClient.invalidateQueries({ queryKey }))
    const feed = {
      subscribe: () => activity.subscribe({ signal }),
      onReady: refresh,
      onEntry: (entry: Activity) => {
        if (type === undefined || entry.type === type) refresh()
      },
    }
    void follow(feed, signal)
    return () => leaving.abort()
  }, [machineId, type, isShown])
}

/** Runs it at once and, if it is asked for meanwhile, again: entries that keep arriving do not cut a read short. */
function oneAtATime(run: () => Promise<void>): () => void {
  let isAsked = false
  let isRunning = false
  const runAll = async () => {
    isRunning = true
    while (isAsked) {
      isAsked = false
      await run()
      await new Promise((resolve) => setTimeout(resolve, refreshMs))
    }
    isRunning = false
  }
  return () => {
    isAsked = true
    if (!isRunning) void runAll()
  }
}
