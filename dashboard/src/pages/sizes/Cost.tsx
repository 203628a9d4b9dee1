import type { CostEstimate, MachineSize } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { estimateQuery } from '../../api/billing.ts'
import { formatDateTime, formatRate } from '../../format.ts'
import { formatHours } from '../../quantities.ts'

/** What a new machine of a size costs, and how long it costs nothing. Absent if the estimate fails. */
export function Cost({ size }: { readonly size: MachineSize }) {
  const { data } = useQuery(estimateQuery(size))
  // As high as its longest words: a button below must not move away from under a pointer.
  return (
    <p role="status" className="min-h-20 text-[13px] text-muted">
      {data && `${priceWords(data)} ${includedWords(data)}`}
    </p>
  )
}

function priceWords({
  computeCentsPerHour: compute,
  hotStorageCentsPerHour: disk,
  currency,
}: CostEstimate): string {
  if (Number(compute) === 0 && Number(disk) === 0) return 'It costs nothing on your plan.'
  const diskWords =
    Number(disk) === 0 ? '' : `, and ${formatRate(Number(disk), currency)} an hour for its disk`
  return `It costs ${formatRate(Number(compute), currency)} an hour while it runs, once the included compute is used up${diskWords}.`
}

function includedWords({ includedStandardHours: hours, includedUntil }: CostEstimate): string {
  if (Number(hours) === 0) return 'No included compute is left in this period.'
  const left = `${formatHours(hours)} standard-hours are still included`
  return includedUntil === null
    ? `${left}, enough until the period ends.`
    : `${left}: until ${formatDateTime(includedUntil)} if all that runs goes on running.`
}
