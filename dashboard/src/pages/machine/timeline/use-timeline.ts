import { useQuery } from '@tanstack/react-query'
import { loadOlderActivity, machineActivityQuery, type ActivityLog } from '../../../api/activity.ts'
import { loadOlderEvents, machineEventsQuery, type EventLog } from '../../../api/events.ts'
import { useLiveActivity } from '../../../api/live-activity.ts'
import type { TimelineParts } from './filter.ts'
import { mergeLogs, type Timeline } from './merge.ts'

export type LoadedTimeline = Pick<Timeline, 'entries'> &
  Pick<EventLog, 'openers'> & {
    /** Null: all of it is loaded. */
    readonly loadOlder: (() => Promise<void>) | null
  }

const noEvents: EventLog = { entries: [], olderCursor: null, openers: {} }
const noActivity: ActivityLog = { entries: [], olderCursor: null }

/** A log of which fewer entries wait to be shown loads another page with the others. */
const leastWaiting = 25

/** The logs that are asked for as one query, kept current while the component is shown. */
export function useTimeline(machineId: string, parts: TimelineParts) {
  const [eventType, activityType] = [parts.events?.type, parts.activity?.type]
  const events = useQuery({
    ...machineEventsQuery(machineId, eventType),
    enabled: parts.events !== null,
  })
  const activity = useQuery({
    ...machineActivityQuery(machineId, activityType),
    enabled: parts.activity !== null,
  })
  useLiveActivity(machineId, activityType, parts.activity !== null && activity.data !== undefined)
  const asked = [...(parts.events ? [events] : []), ...(parts.activity ? [activity] : [])]
  const isRead = asked.every(({ data }) => data !== undefined)
  const failed = asked.find(({ error }) => error !== null)
  return {
    data: isRead
      ? load(
          (parts.events && events.data) ?? noEvents,
          (parts.activity && activity.data) ?? noActivity,
        )
      : undefined,
    error: failed?.error ?? null,
    failureReason: asked.find(({ failureReason }) => failureReason)?.failureReason ?? null,
    isFetching: asked.some(({ isFetching }) => isFetching),
    isPending: asked.some(({ isPending }) => isPending),
    dataUpdatedAt: Math.min(...asked.map(({ dataUpdatedAt }) => dataUpdatedAt)),
    refetch: () => Promise.all(asked.map((query) => query.refetch())),
  }

  function load(eventLog: EventLog, activityLog: ActivityLog): LoadedTimeline {
    const { entries, waiting } = mergeLogs(eventLog, activityLog)
    const hasMore = eventLog.olderCursor !== null || activityLog.olderCursor !== null
    const loadOlder = async () => {
      await Promise.all([
        waiting.events < leastWaiting && loadOlderEvents(machineId, eventType),
        waiting.activity < leastWaiting && loadOlderActivity(machineId, activityType),
      ])
    }
    return { entries, openers: eventLog.openers, loadOlder: hasMore ? loadOlder : null }
  }
}
