import type { MachineRecord } from '@computer/sdk'
import { formatMoney } from '../../format.ts'
import { useCost } from './use-cost.ts'

/** What the use of a machine has come to in this period. Absent while it costs nothing. */
export function CostSoFar({ machine }: { readonly machine: MachineRecord }) {
  const cost = useCost(machine.id)
  if (!cost || cost.cents === 0) return null
  return ` · ${formatMoney(cost.cents, cost.currency)} in this period`
}
