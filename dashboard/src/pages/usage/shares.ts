import type { UsageLine, UsageRecord } from '@computer/sdk'
import { groupOf } from './groups.ts'

/**
 * The cost of each group of the records, in whole cents by its key. Each amount is rounded with what was left of those
 * before it, so that the groups add up to the lines exactly once all records are here.
 */
export function sharesOf(
  lines: readonly Pick<UsageLine, 'meter' | 'quantity' | 'amountCents'>[],
  records: readonly Pick<UsageRecord, 'meter' | 'quantity' | 'machineId' | 'actor' | 'labels'>[],
  isWhole: boolean,
): ReadonlyMap<string, number> {
  const shares = new Map<string, number>()
  for (const { meter, quantity, amountCents } of lines) {
    const own = records.filter((record) => record.meter === meter)
    const counted = own.reduce((sum, record) => sum + BigInt(record.quantity), 0n)
    // What runs has gone on between the bill and the records.
    const whole = isWhole || counted > BigInt(quantity) ? counted : BigInt(quantity)
    let sum = 0n
    let shared = 0n
    for (const record of own) {
      sum += BigInt(record.quantity)
      const until = whole === 0n ? 0n : (sum * BigInt(amountCents)) / whole
      const group = groupOf(record)
      shares.set(group, (shares.get(group) ?? 0) + Number(until - shared))
      shared = until
    }
  }
  return shares
}
