import type { Activity, MachineEvent } from '@computer/sdk'
import type { Log } from '../../../api/log.ts'

export type TimelineEntry =
  | { readonly kind: 'event'; readonly entry: MachineEvent }
  | { readonly kind: 'activity'; readonly entry: Activity }

export type Timeline = {
  /** Newest first. */
  readonly entries: readonly TimelineEntry[]
  /** How many loaded entries of each log wait for older ones of the other. */
  readonly waiting: { readonly events: number; readonly activity: number }
}

/**
 * Merges two logs by time. It ends where the loaded part of a log ends that has more: what comes next may be the
 * entry that is not loaded. So the entries shown are the same, in the same order, however the logs were loaded.
 */
export function mergeLogs(events: Log<MachineEvent>, activity: Log<Activity>): Timeline {
  const entries: TimelineEntry[] = []
  let [shownEvents, shownActivity] = [0, 0]
  for (;;) {
    const event = events.entries[shownEvents]
    const act = activity.entries[shownActivity]
    if (!event && events.olderCursor !== null) break
    if (!act && activity.olderCursor !== null) break
    if (event && (!act || isNewer(event, act))) {
      entries.push({ kind: 'event', entry: event })
      shownEvents++
    } else if (act) {
      entries.push({ kind: 'activity', entry: act })
      shownActivity++
    } else break
  }
  const waiting = {
    events: events.entries.length - shownEvents,
    activity: activity.entries.length - shownActivity,
  }
  return { entries, waiting }
}

type Placed = { readonly occurredAt: string; readonly id: string }

function isNewer(one: Placed, other: Placed): boolean {
  const ms = Date.parse(one.occurredAt) - Date.parse(other.occurredAt)
  return ms === 0 ? one.id > other.id : ms > 0
}
