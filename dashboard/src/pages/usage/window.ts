import { useQuery } from '@tanstack/react-query'
import { summaryQuery } from '../../api/billing.ts'

/** The times whose usage is shown. A period has a bill, the others have none. */
export const windowWords = {
  current: 'This billing period',
  previous: 'The period before',
  day: 'The last 24 hours',
  week: 'The last 7 days',
  month: 'The last 30 days',
} as const
export type WindowName = keyof typeof windowWords

export function isWindowName(name: unknown): name is WindowName {
  return typeof name === 'string' && Object.hasOwn(windowWords, name)
}

export const dayMs = 86_400_000
const days: Readonly<Record<Exclude<WindowName, 'current' | 'previous'>, number>> = {
  day: 1,
  week: 7,
  month: 30,
}

export type Window = { readonly start: string; readonly end: string }

/** The summary of the billing period of a window. Without one, of the current period. */
export function usePeriod(name: WindowName) {
  const current = useQuery(summaryQuery())
  const start = current.data?.periodStart
  const isBefore = name === 'previous'
  const before = useQuery({
    ...summaryQuery(start && new Date(Date.parse(start) - 1).toISOString()),
    enabled: isBefore && start !== undefined,
  })
  return isBefore && current.data ? before : current
}

/** A window of days ends with the hour that goes on at `now`. */
export function windowOf(
  name: WindowName,
  period: { readonly periodStart: string; readonly periodEnd: string },
  now: number,
): Window {
  if (name === 'current' || name === 'previous')
    return { start: period.periodStart, end: period.periodEnd }
  const hourMs = 3_600_000
  const end = Math.ceil(now / hourMs) * hourMs
  return {
    start: new Date(end - days[name] * dayMs).toISOString(),
    end: new Date(end).toISOString(),
  }
}
