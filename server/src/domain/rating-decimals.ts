import { standardHour } from './rating.ts'

const digits = 6
const scale = 10n ** BigInt(digits)

/** A fraction as a decimal string with six decimals, rounded down. */
export function toDecimal(numerator: bigint, denominator = 1n): string {
  return showScaled((numerator * scale) / denominator)
}

/**
 * Compute credits in standard-hours as decimal strings with six decimals. What remains is the difference
 * of the two that are shown, so that a reader can check it.
 */
export function toStandardHours(credits: { readonly included: bigint; readonly used: bigint }) {
  const included = (credits.included * scale) / standardHour
  const used = (2n * credits.used * scale + standardHour) / (2n * standardHour)
  const remaining = included > used ? included - used : 0n
  return {
    included: showScaled(included),
    used: showScaled(used),
    remaining: showScaled(remaining),
  }
}

function showScaled(scaled: bigint): string {
  const text = scaled.toString().padStart(digits + 1, '0')
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`
}
