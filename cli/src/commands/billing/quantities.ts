import type { Meter } from '@computer/sdk'
import { formatBytes } from '../../text.ts'

const bytesOfGb = 1024 ** 3

/** A quantity of a meter for people, such as `12.5 hours`. Exact ones are in the output of --json. */
export function formatQuantity(meter: Meter, quantity: string): string {
  const amount = Number(quantity)
  if (meter === 'egress_bytes') return formatBytes(amount)
  if (!meter.endsWith('_byte_seconds')) return `${formatNumber(amount / 3600)} hours`
  return `${formatNumber(amount / 3600 / bytesOfGb)} GB-hours`
}

/** The name of a meter for people, such as `hot storage`. */
export function nameOfMeter(meter: Meter): string {
  return meter.replace(/(_byte)?_seconds$|_bytes$/, '').replaceAll('_', ' ')
}

export function formatCents(cents: number, currency: string): string {
  return `${(cents / 100).toFixed(2)} ${currency.toUpperCase()}`
}

function formatNumber(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)))
}
