import type { Actor } from '../../actor.ts'
import type { Database } from '../../db/database.ts'
import { findPeriod } from './periods.ts'
import { listRecords } from './usage-records.ts'

const rowsOfPage = 1_000

/** The usage records of a billing period as rows of a CSV file, the head first and the newest next. */
export async function* readUsageCsv(
  db: Database,
  actor: Pick<Actor, 'organizationId'>,
  time: Date | undefined,
): AsyncGenerator<readonly string[]> {
  const { starts_at: start, ends_at: end } = await findPeriod(db, actor.organizationId, time)
  yield columns
  let cursor: string | undefined
  do {
    const request = { limit: rowsOfPage, cursor }
    const page = await listRecords(db, actor, { start, end }, request)
    for (const { start: begin, end: until, labels, ...row } of page.data) {
      const times = { start: begin.toISOString(), end: until.toISOString() }
      const values = { ...row, ...times, labels: JSON.stringify(labels) }
      yield columns.map((column) => values[column] ?? '')
    }
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
}

const columns = [
  'start',
  'end',
  'meter',
  'size',
  'quantity',
  'machine_id',
  'machine_name',
  'actor_type',
  'actor_id',
  'actor_name',
  'labels',
] as const
