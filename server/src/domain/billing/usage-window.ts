import type { ApiKeyId, MachineId, Meter, OrganizationId } from '@computer/contract'
import type { Database } from '../../db/database.ts'
import { invalid } from '../../errors.ts'
import type { UsageWindow } from '../events/meter-intervals.ts'
import { getPeriod } from '../accounts/periods.ts'

const maxDays = 366
const [earliest, latest] = [Date.UTC(2000, 0, 1), Date.UTC(2200, 0, 1)]

export type UsageFilter = {
  readonly start?: string | undefined
  readonly end?: string | undefined
  readonly meter?: Meter | undefined
  readonly machine_id?: MachineId | undefined
  readonly api_key_id?: ApiKeyId | undefined
  readonly label_key?: string | undefined
  readonly label_value?: string | undefined
}

/** The window of a query with its filters. */
export async function windowOf(
  db: Database,
  organizationId: OrganizationId,
  query: UsageFilter,
): Promise<UsageWindow & { readonly now: Date }> {
  const { meter, machine_id: machineId, api_key_id: apiKeyId } = query
  const { label_key: key, label_value: value } = query
  if (key === undefined && value !== undefined)
    throw refusal('label_value', 'requires label_key as well')
  const label = key === undefined ? undefined : { key, value }
  return { ...(await readWindow(db, organizationId, query)), meter, machineId, apiKeyId, label }
}

/** The window that a query asks for. What it leaves out is taken from the open period. */
export async function readWindow(
  db: Database,
  organizationId: OrganizationId,
  query: { readonly start?: string | undefined; readonly end?: string | undefined },
): Promise<{ readonly start: Date; readonly end: Date; readonly now: Date }> {
  const period = await getPeriod(db, organizationId)
  const start = query.start === undefined ? period.starts_at : new Date(query.start)
  const end = query.end === undefined ? period.ends_at : new Date(query.end)
  for (const [field, time] of Object.entries({ start, end })) {
    if (time.getTime() >= earliest && time.getTime() <= latest) continue
    throw refusal(field, 'must be between the years 2000 and 2200')
  }
  if (start >= end) {
    throw refusal(
      query.end === undefined ? 'start' : 'end',
      `start must be before end; they are ${start.toISOString()} and ${end.toISOString()}`,
    )
  }
  if (end.getTime() - start.getTime() > maxDays * 86_400_000) {
    throw refusal('start', `must be at most ${maxDays} days before end; ask for each year alone`)
  }
  return { start, end, now: period.now }
}

function refusal(field: string, message: string) {
  return invalid(`query: ${field}: ${message}`, [{ field, message }])
}
