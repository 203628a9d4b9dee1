import type { usage, UsageRecord as WireRecord } from '@computer/contract'
import { stringify } from 'csv-stringify'
import { pipeline, Readable } from 'node:stream'
import type { App } from '../app.ts'
import { readFocus } from '../domain/billing/focus.ts'
import { getLabelKeys, setLabelKeys } from '../domain/billing/labels.ts'
import { readUsageCsv } from '../domain/billing/usage-csv.ts'
import { readUsageMetrics } from '../domain/billing/usage-metrics.ts'
import type { UsageRecord } from '../domain/billing/usage-names.ts'
import { listUsage } from '../domain/billing/usage-records.ts'
import { readSeries } from '../domain/billing/usage-series.ts'
import { BytesResponse, type Routes } from './route.ts'
import { showReference } from '../domain/show-reference.ts'
import { pageToWire, rowToWire } from './to-wire.ts'

export function usageRoutes(app: Pick<App, 'db' | 'config'>): Routes<typeof usage> {
  const { db, config } = app
  return {
    list: async (actor, { query }) => pageToWire(await listUsage(db, actor, query), recordToWire),
    async series(actor, { query }) {
      const { bucketSeconds, points } = await readSeries(db, actor, query)
      return { bucket_seconds: bucketSeconds, data: points.map((point) => rowToWire(point)) }
    },
    labels: async (actor) => ({ keys: await getLabelKeys(db, actor) }),
    setLabels: async (actor, { body }) => ({ keys: await setLabelKeys(app, actor, body.keys) }),
    async export(actor, { query }) {
      const time = query.period === undefined ? undefined : new Date(query.period)
      const rows =
        query.format === 'csv' ? readUsageCsv(db, actor, time) : readFocus(db, config, actor, time)
      return sendCsv(rows, `${query.format === 'csv' ? 'usage' : 'costs-focus'}.csv`)
    },
    async metrics(actor) {
      const text = await readUsageMetrics(db, actor)
      const type = 'application/openmetrics-text; version=1.0.0; charset=utf-8'
      return new BytesResponse(Buffer.from(text), { 'content-type': type })
    },
  }
}

/** Waits for the first row, so that a period that does not exist is an error and not an empty file. */
async function sendCsv(
  rows: AsyncGenerator<readonly string[]>,
  filename: string,
): Promise<BytesResponse> {
  const first = await rows.next()
  const all = async function* () {
    if (!first.done) yield first.value
    yield* rows
  }
  const csv = stringify({ cast: { string: withoutFormula } })
  pipeline(Readable.from(all()), csv, () => {})
  return new BytesResponse(csv, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${filename}"`,
  })
}

/** A spreadsheet takes a text that begins like a formula for one. */
function withoutFormula(text: string): string {
  const isFormula = /^[=+\-@\t\r]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text)
  return isFormula ? `'${text}` : text
}

function recordToWire(record: UsageRecord): WireRecord {
  return {
    ...rowToWire(record),
    actor: showReference(record.actor_type, record.actor_id, record.actor_name),
  } as WireRecord
}
