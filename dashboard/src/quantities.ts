import type { CatalogPrice, Meter, PriceItem, UsageLine } from '@computer/sdk'
import { formatBytes, formatNumber, formatRate } from './format.ts'

/* Quantities of meters, as people read them. */

export const meterWords: Readonly<Record<Meter, string>> = {
  compute_small_seconds: 'Small machines',
  compute_standard_seconds: 'Standard machines',
  compute_large_seconds: 'Large machines',
  hot_storage_byte_seconds: 'Disks of machines',
  cold_storage_byte_seconds: 'Snapshots and templates',
  egress_bytes: 'Traffic to viewers',
}

const bytesOfGb = 1024 ** 3
const secondsOfHour = 3_600

/** A quantity in the unit that people read: hours, hours of a gigabyte, or bytes. */
export function amountOf(meter: Meter, quantity: string | bigint): number {
  const amount = Number(quantity)
  if (meter === 'egress_bytes') return amount
  return amount / secondsOfHour / (meter.endsWith('_byte_seconds') ? bytesOfGb : 1)
}

/** Such as "12.5 h", "340 GB-hours" or "1.2 MB". */
export function formatQuantity(meter: Meter, quantity: string | bigint): string {
  return formatAmount(meter, amountOf(meter, quantity))
}

export function formatAmount(meter: Meter, amount: number): string {
  if (meter === 'egress_bytes') return formatBytes(amount)
  const unit = meter.endsWith('_byte_seconds') ? 'GB-hours' : 'h'
  return amount > 0 && amount < 0.05 ? `< 0.1 ${unit}` : `${formatNumber(amount)} ${unit}`
}

/** A price in the unit that people read, such as "$0.10 a standard-hour". Undefined: free. */
export function formatPrice({ item, cents, perUnits, currency }: CatalogPrice): string | undefined {
  if (!cents) return undefined
  const { units, words } = readableUnits[item]
  return `${formatRate((cents * units) / Number(perUnits), currency)} ${words}`
}

const daysOfMonth = 30
const gbMonth = bytesOfGb * secondsOfHour * 24 * daysOfMonth
/** How many units of the catalog people count as one. */
const readableUnits: Readonly<
  Record<PriceItem, { readonly units: number; readonly words: string }>
> = {
  compute: { units: 1000 * secondsOfHour, words: 'a standard-hour' },
  hot_storage: { units: gbMonth, words: `a GB for ${daysOfMonth} days` },
  cold_storage: { units: gbMonth, words: `a GB for ${daysOfMonth} days` },
  egress: { units: bytesOfGb, words: 'a GB' },
}

/** The sum of quantities, which are decimal strings of any size. */
export function sumOf(quantities: readonly string[]): bigint {
  return quantities.reduce((sum, quantity) => sum + BigInt(quantity), 0n)
}

/** Standard-hours, which the API gives as a decimal string. */
export function formatHours(hours: string): string {
  return formatNumber(Number(hours))
}

/** The part of a line that some of its quantity costs, in cents, not rounded. */
export function shareOf(
  { amountCents, quantity }: Pick<UsageLine, 'amountCents' | 'quantity'>,
  part: bigint,
): number {
  const whole = BigInt(quantity)
  if (whole === 0n) return 0
  // Millionths of a cent, because the quantities are larger than numbers are exact.
  return Number((BigInt(amountCents) * 1_000_000n * part) / whole) / 1_000_000
}
