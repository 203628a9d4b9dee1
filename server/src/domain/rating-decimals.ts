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

/** A fraction as a decimal string with so many decimals, rounded half up. */
export function toRounded(numerator: bigint, denominator: bigint, decimals: number): string {
  const scaled = numerator * 10n ** BigInt(decimals)
  return showScaled((2n * scaled + denominator) / (2n * denominator), decimals)
}

function showScaled(scaled: bigint, decimals = digits): string {
  const text = scaled.toString().padStart(decimals + 1, '0')
  return `${text.slice(0, -decimals)}.${text.slice(-decimals)}`
}
