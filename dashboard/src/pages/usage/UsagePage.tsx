import type { Meter, UsageSummary } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { catalogQuery } from '../../api/billing.ts'
import { usageSeriesQuery } from '../../api/usage.ts'
import { Empty } from '../../ui/Empty.tsx'
import { Page } from '../../ui/Page.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Select } from '../../ui/Select.tsx'
import { useNow } from '../../ui/Time.tsx'
import { MeterChoice } from './MeterChoice.tsx'
import { Series } from './Series.tsx'
import { UsageGroups } from './UsageGroups.tsx'
import { isWindowName, usePeriod, windowOf, windowWords, type WindowName } from './window.ts'

/** The usage of the organization: each meter over time, and by who used it. */
export function UsagePage() {
  const { window: named } = useSearch({ from: '/app/usage' })
  const name = isWindowName(named) ? named : 'current'
  const period = usePeriod(name)
  return (
    <Page
      title="Usage"
      description="What the machines of the organization used, to the second and the byte."
      actions={<WindowSelect name={name} />}
    >
      <QueryView query={period}>
        {(summary) => <UsageOfWindow key={name} name={name} summary={summary} />}
      </QueryView>
    </Page>
  )
}

function UsageOfWindow({
  name,
  summary,
}: {
  readonly name: WindowName
  readonly summary: UsageSummary
}) {
  const { meter: wanted } = useSearch({ from: '/app/usage' })
  const navigate = useNavigate()
  const now = useNow()
  const window = windowOf(name, summary, now)
  const query = useQuery(usageSeriesQuery(window))
  const catalog = useQuery(catalogQuery)
  const hasBill = name === 'current' || name === 'previous'
  return (
    <QueryView query={query}>
      {({ bucketSeconds, data }) => {
        if (data.length === 0) return <NoUsage name={name} />
        const used = new Set(data.map(({ meter }) => meter))
        const meters = catalog.data?.meters.map(({ id }) => id) ?? [...used]
        const meter = meters.find((one) => one === wanted) ?? meters.find((one) => used.has(one))!
        return (
          <div className="space-y-6">
            <MeterChoice
              meters={meters}
              points={data}
              value={meter}
              onChange={(next: Meter) =>
                void navigate({
                  to: '/usage',
                  search: (before) => ({ ...before, meter: next }),
                  replace: true,
                })
              }
            />
            <Series
              meter={meter}
              points={data.filter((point) => point.meter === meter)}
              window={window}
              bucketSeconds={bucketSeconds}
            />
            <UsageGroups meter={meter} window={window} summary={hasBill ? summary : undefined} />
          </div>
        )
      }}
    </QueryView>
  )
}

function WindowSelect({ name }: { readonly name: WindowName }) {
  const navigate = useNavigate()
  return (
    <Select<WindowName>
      label="Time"
      hideLabel
      value={name}
      choices={Object.entries(windowWords).map(([value, label]) => ({
        value: value as WindowName,
        label,
      }))}
      onChange={(next) =>
        void navigate({
          to: '/usage',
          search: ({ meter, by }) => ({
            ...(meter !== undefined && { meter }),
            ...(by !== undefined && { by }),
            ...(next !== 'current' && { window: next }),
          }),
          replace: true,
        })
      }
      className="w-52"
    />
  )
}

function NoUsage({ name }: { readonly name: WindowName }) {
  return (
    <Empty
      title="No usage in this time"
      cli={
        name === 'current' ? 'computer usage' : 'computer usage --start 2030-01-01 --end 2030-02-01'
      }
      sdk={`const records = await computer.usage.list({ groupBy: 'machine' }).all()
const series = await computer.usage.series({ meter: 'compute_small_seconds' })`}
    >
      Machines use compute while they run, storage while their disks and snapshots exist, and
      traffic while somebody looks at them.
    </Empty>
  )
}
