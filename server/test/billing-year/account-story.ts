import { catalogs } from './catalogs.ts'

/* What happens to the account in the simulated year. */

export type AccountHappening = { readonly at: string } & (
  | { readonly what: 'founded'; readonly plan: string }
  | {
      readonly what: 'plan chosen'
      readonly plan: string
      /** Of the allowances, what is agreed beside the plan. */
      readonly terms: Readonly<Record<string, number>>
      readonly at_once: boolean
    }
  | { readonly what: 'payment missed' | 'payment arrived' }
  | { readonly what: 'corrected'; readonly cents: number; readonly reason: string }
  | { readonly what: 'catalog published'; readonly version: number }
)

export const founded = '2028-01-03T09:17:23.456Z'
export const over = '2029-02-01T00:00:00.000Z'

const gib = 2 ** 30
const first = { included_standard_hours: 500, included_hot_storage_bytes: 700 * gib }
const second = { included_standard_hours: 777, included_hot_storage_bytes: 123_456_789_012 }

export const accountStory: readonly AccountHappening[] = [
  { at: founded, what: 'founded', plan: 'free' },
  // In the hour of the founding: the first period gets the limits of these tests.
  choose('2028-01-03T09:40:00.000Z', 'free'),
  choose('2028-01-17T14:25:10.001Z', 'developer'),
  // Up on the leap day, at the first moment of an hour.
  choose('2028-02-29T13:00:00.000Z', 'pro'),
  // Down: waits for the end of March.
  choose('2028-03-20T08:08:08.888Z', 'developer'),
  // Up twice within an hour.
  choose('2028-04-10T16:05:00.000Z', 'pro'),
  choose('2028-04-10T16:59:59.999Z', 'startup', { included_standard_hours: 1500 }),
  // Down, and back before it counts.
  choose('2028-05-15T12:00:00.000Z', 'pro'),
  choose('2028-05-20T12:00:00.000Z', 'startup', { included_standard_hours: 1500 }),
  // From the next version on the catalog lacks startup, which goes on. Any other plan is higher.
  choose('2028-08-08T23:59:59.999Z', 'pro'),
  { at: '2028-08-19T11:11:11.111Z', what: 'corrected', cents: -1_234, reason: 'An outage' },
  choose('2028-09-05T10:30:00.000Z', 'enterprise', first),
  // Other terms of the same plan.
  choose('2028-09-25T00:00:00.000Z', 'enterprise', second),
  { at: '2028-10-05T03:00:00.000Z', what: 'corrected', cents: 500, reason: 'A mistake' },
  // Corrected in the period that a choice within the same hour ends before.
  { at: '2028-10-07T06:10:00.000Z', what: 'corrected', cents: -77, reason: 'Another' },
  choose('2028-10-07T06:20:00.000Z', 'enterprise', first),
  { at: '2028-10-10T00:00:00.000Z', what: 'payment missed' },
  { at: '2028-11-02T17:45:00.000Z', what: 'payment arrived' },
  // Down twice: the second waits in place of the first.
  choose('2028-11-12T01:00:00.000Z', 'pro', { included_standard_hours: 1 }),
  choose('2028-11-20T01:00:00.000Z', 'developer'),
  // Down, at once.
  { ...choose('2028-12-18T05:06:07.008Z', 'free'), at_once: true },
  // The last hour of the year is a period of its own.
  choose('2028-12-31T23:30:00.000Z', 'pro'),
  ...catalogs.slice(1).map(({ version, published_at: at }): AccountHappening => ({
    at,
    what: 'catalog published',
    version,
  })),
]

function choose(at: string, plan: string, terms: Readonly<Record<string, number>> = {}) {
  return { at, what: 'plan chosen', plan, terms, at_once: false } as const
}
