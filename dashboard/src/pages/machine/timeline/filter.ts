import type { MachineEventType } from '@computer/sdk'
import { machineEventTypes } from '@computer/sdk/tables'
import type { Choice } from '../../../ui/Select.tsx'
import { eventWords } from '../../../words.ts'
import {
  activityTypes,
  activityWords,
  isKnownActivity,
  type ActivityType,
} from './activity-types.ts'

/** The address says what the timeline shows: all, one of the two logs, or one type of one of them. */
export type TimelineFilter = 'all' | 'events' | 'activity' | MachineEventType | ActivityType

/** How a filter reads a log: not at all, whole, or one type of it. */
type Part<Type> = { readonly type: Type | undefined } | null

export type TimelineParts = {
  readonly events: Part<MachineEventType>
  readonly activity: Part<ActivityType>
}

/** Shows all for a text that is no filter. */
export function readFilter(text = 'all'): TimelineFilter {
  if (text === 'events' || text === 'activity' || isKnownActivity(text)) return text
  return machineEventTypes.find((type) => type === text) ?? 'all'
}

export function partsOf(filter: TimelineFilter): TimelineParts {
  const whole = { type: undefined }
  if (filter === 'all') return { events: whole, activity: whole }
  if (filter === 'events') return { events: whole, activity: null }
  if (filter === 'activity') return { events: null, activity: whole }
  if (isKnownActivity(filter)) return { events: null, activity: { type: filter } }
  return { events: { type: filter }, activity: null }
}

export const filterChoices: readonly Choice<TimelineFilter>[] = [
  { value: 'all', label: 'Everything' },
  { value: 'events', label: 'Only events', detail: 'What became of the machine' },
  { value: 'activity', label: 'Only activity', detail: 'Who did what with it' },
  ...machineEventTypes.map((value) => ({ value, label: eventWords[value], detail: value })),
  ...activityTypes.map((value) => ({ value, label: activityWords[value], detail: value })),
]
