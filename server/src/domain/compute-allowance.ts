import type { PeriodRow } from '../db/database.ts'
import { endOfMonth, secondsBetween, startOfMonth } from './calendar.ts'
import type { ComputeAllowance } from './rating.ts'

/** The compute that a period includes, by its terms and the plan in its version of the catalog. */
export function computeAllowance(
  period: Pick<PeriodRow, 'terms' | 'has_whole_allowance' | 'starts_at' | 'ends_at'>,
  plan: { readonly included_standard_hours: number | null },
): ComputeAllowance {
  const { starts_at: start, ends_at: end, terms } = period
  const periodSeconds = secondsBetween(start, end)
  const monthSeconds = secondsBetween(startOfMonth(start), endOfMonth(start))
  return {
    // An allowance that is still to be negotiated includes nothing.
    includedStandardHours: BigInt(
      terms['included_standard_hours'] ?? plan.included_standard_hours ?? 0,
    ),
    periodSeconds,
    allowanceSeconds: period.has_whole_allowance ? periodSeconds : monthSeconds,
  }
}
