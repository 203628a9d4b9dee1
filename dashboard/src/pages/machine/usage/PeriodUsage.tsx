import type { MachineRecord, Meter, UsageSummary } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { catalogQuery, summaryQuery } from '../../../api/billing.ts'
import { usageSeriesQuery } from '../../../api/usage.ts'
import { formatMoney } from '../../../format.ts'
import { QueryView } from '../../../ui/QueryView.tsx'
import { MeterChoice } from '../../usage/MeterChoice.tsx'
import { Series } from '../../usage/Series.tsx'
import { useCost } from '../use-cost.ts'

/** What a machine used in this billing period, and its share of the bill. */
export function PeriodUsage({ machine }: { readonly machine: MachineRecord }) {
  const period = useQuery(summaryQuery())
  const cost = useCost(machine.id)
  return (
    <section aria-label="This billing period" className="space-y-3">
      <div className="flex flex-wrap items-baseline justify-between gap-2">
        <h2 className="font-medium">This billing period</h2>
        {cost && (
          <p className="text-muted">
            {formatMoney(cost.cents, cost.currency)} of the{' '}
            <Link to="/billing" className="text-accent-fg underline-offset-2 hover:underline">
              {formatMoney(cost.totalCents, cost.currency)} of all machines
            </Link>
          </p>
        )}
      </div>
      <QueryView query={period}>
        {(summary) => <MachineSeries machineId={machine.id} summary={summary} />}
      </QueryView>
    </section>
  )
}

function MachineSeries({
  machineId,
  summary: { periodStart: start, periodEnd: end },
}: {
  readonly machineId: string
  readonly summary: UsageSummary
}) {
  const query = useQuery(usageSeriesQuery({ start, end, machineId }))
  const catalog = useQuery(catalogQuery)
  const [wanted, setWanted] = useState<Meter>()
  return (
    <QueryView query={query}>
      {({ bucketSeconds, data }) => {
        const used = new Set(data.map(({ meter }) => meter))
        const known = catalog.data?.meters.map(({ id }) => id) ?? []
        // A machine has used the sizes that it has had.
        const meters = known.filter((meter) => used.has(meter))
        const meter = wanted ?? meters[0]
        if (!meter) return <p className="text-muted">It has used nothing in this period yet.</p>
        return (
          <div className="space-y-4">
            <MeterChoice meters={meters} points={data} value={meter} onChange={setWanted} />
            <Series
              meter={meter}
              points={data.filter((point) => point.meter === meter)}
              window={{ start, end }}
              bucketSeconds={bucketSeconds}
            />
          </div>
        )
      }}
    </QueryView>
  )
}
