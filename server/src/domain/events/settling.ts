import { transactionsEndWithinMs } from '../../db/database.ts'
import { endOfHour, startOfHour } from '../calendar.ts'

/*
 * The worker adds up the usage of an hour once no transaction can add to it any more, and stores the sums, so
 * that a check reads the sums and the usage since then alone.
 */

/** The last whole hour until which no transaction can add usage any more. */
export function settledHour(now: Date): Date {
  return startOfHour(new Date(now.getTime() - transactionsEndWithinMs))
}

/** When that hour is a later one than it is now. */
export function nextSettling(now: Date): Date {
  return new Date(endOfHour(settledHour(now)).getTime() + transactionsEndWithinMs)
}

/** Adds up quantities by key, as decimal strings. */
export function sumUp(
  quantities: Iterable<readonly [key: string, quantity: string | bigint]>,
): Record<string, string> {
  const sums = new Map<string, bigint>()
  for (const [key, quantity] of quantities) sums.set(key, (sums.get(key) ?? 0n) + BigInt(quantity))
  return Object.fromEntries([...sums].map(([key, sum]) => [key, String(sum)]))
}
