import { useQuery } from '@tanstack/react-query'
import { summaryQuery } from '../../api/billing.ts'
import { machineUsageQuery } from '../../api/usage.ts'
import { shareOf } from '../../quantities.ts'

/** The share of a machine in the bill of this period. Undefined until it is known. */
export function useCost(machineId: string) {
  const { data: summary } = useQuery(summaryQuery())
  const { data: records } = useQuery(machineUsageQuery(machineId))
  if (!summary || !records) return undefined
  const { lines, totalCents, currency } = summary
  const cents = records.reduce((sum, { meter, quantity }) => {
    const line = lines.find((one) => one.meter === meter)
    return sum + (line ? shareOf(line, BigInt(quantity)) : 0)
  }, 0)
  return { cents: Math.round(cents), totalCents, currency }
}
