import type { Page } from 'playwright-core'
import { changeAnswers } from './answers.ts'

/** The time that steady pages show. */
export const steadyNow = new Date('2026-03-17T10:30:00Z')

/**
 * Lets a page show the same in every run: the answers of the server keep their form, and their times and
 * measured amounts become those of a fixed moment.
 */
export async function makeSteady(page: Page): Promise<void> {
  await page.clock.setFixedTime(steadyNow)
  await changeAnswers(page, {
    replace: (path) => answers[path] && { status: 200, json: answers[path] },
    change: (_path, answer) =>
      answer.status < 300 ? { ...answer, json: steady(answer.json, '') } : answer,
  })
}

const hourMs = 3_600_000

const series = {
  bucket_seconds: 3_600,
  data: Array.from({ length: 12 }, (_, hour) => ({
    start: new Date(Date.UTC(2026, 2, 16, 22) + hour * hourMs).toISOString(),
    meter: 'compute_small_seconds',
    quantity: String(600 * (1 + ((hour * 7) % 12))),
  })),
}

const records = {
  data: ['invoice-bot', 'checkout-test'].map((machine_name, index) => ({
    meter: 'compute_small_seconds',
    size: 'small',
    quantity: String(23_400 * (index + 1)),
    machine_id: `mch_0000000000000000000000000${index}`,
    machine_name,
    actor: null,
    labels: {},
    start: '2026-03-16T11:00:00.000Z',
    end: '2026-03-17T10:30:00.000Z',
  })),
  next_cursor: null,
  has_more: false,
}

/** How much the server counts within a second of work depends on the moment. */
const answers: Readonly<Record<string, object>> = {
  '/v1/usage': records,
  '/v1/usage/series': series,
}

/** Seconds that have passed at the steady time since a time of this name; later ones are negative. */
const ages: Readonly<Record<string, number>> = {
  period_start: 1_420_200,
  period_end: -1_258_200,
  included_until: -864_000,
  expires_at: -518_400,
  start: 9_000,
  end: 5_400,
  started_at: 12_000,
}
const age = 7_200

const amounts: Readonly<Record<string, unknown>> = {
  quantity: '86400',
  included: '86400',
  billable: '0',
  used: '12.000000',
  remaining: '88.000000',
  address: '203.0.113.7',
  prefix: 'computer_AbCdEf',
  cpu_percent: 12.5,
  memory_used_mb: 512,
  disk_used_bytes: 2 ** 31,
  processes: 64,
}

function steady(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map((item) => steady(item, name))
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value)
    return Object.fromEntries(entries.map(([key, item]) => [key, steady(item, key)]))
  }
  if (value === null) return null
  if (name === 'included' && String(value).includes('.')) return '100.000000'
  if (name in amounts) return amounts[name]
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return value
  return new Date(steadyNow.getTime() - (ages[name] ?? age) * 1_000).toISOString()
}
