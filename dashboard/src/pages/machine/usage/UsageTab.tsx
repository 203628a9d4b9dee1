import type { MachineRecord } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { usageNowQuery, type UsageSample } from '../../../api/usage-now.ts'
import { formatBytes, formatMemory, formatNumber } from '../../../format.ts'
import { QueryView } from '../../../ui/QueryView.tsx'
import { NotRunning } from '../NotRunning.tsx'
import { useMachine } from '../use-machine.ts'
import { PeriodUsage } from './PeriodUsage.tsx'
import { Meter } from '../../../ui/Meter.tsx'

const UsageChart = lazy(async () => ({ default: (await import('./UsageChart.tsx')).UsageChart }))
const bytesOfGb = 1024 ** 3

/** What a machine uses now, and what it used in this billing period. */
export function UsageTab() {
  const { record } = useMachine()
  return (
    <section aria-label="Usage" className="mx-auto w-full max-w-4xl space-y-8 px-4 py-5 sm:px-6">
      {record.state === 'running' ? <LiveUsage machine={record} /> : <NotRunning record={record} />}
      <PeriodUsage machine={record} />
    </section>
  )
}

function LiveUsage({ machine }: { readonly machine: MachineRecord }) {
  const query = useQuery(usageNowQuery(machine.id))
  return (
    <QueryView query={query}>
      {(samples) => (
        <div className="space-y-6">
          <Figures machine={machine} now={samples.at(-1)!} />
          {samples.length > 1 && (
            <Suspense>
              <UsageChart samples={samples} memoryMb={machine.memoryMb} />
            </Suspense>
          )}
        </div>
      )}
    </QueryView>
  )
}

function Figures({
  machine: { cpu, memoryMb, diskGb },
  now: { cpuPercent, memoryUsedMb, diskUsedBytes, processes },
}: {
  readonly machine: MachineRecord
  readonly now: UsageSample
}) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Meter
        label="Processors"
        used={cpuPercent}
        of={100}
        text={`${formatNumber(cpuPercent)} % of ${formatNumber(cpu)} vCPU`}
      />
      <Meter
        label="Memory"
        used={memoryUsedMb}
        of={memoryMb}
        text={`${formatMemory(memoryUsedMb)} of ${formatMemory(memoryMb)}`}
      />
      <Meter
        label="Disk"
        used={diskUsedBytes}
        of={diskGb * bytesOfGb}
        text={
          diskUsedBytes === null
            ? 'being measured'
            : `${formatBytes(diskUsedBytes)} of ${diskGb} GB`
        }
        note="Beyond the image that the machine was created from."
      />
      <div className="rounded-lg border border-line bg-raised p-3">
        <h2 className="text-[13px] text-muted">Processes</h2>
        <p className="text-base font-medium tabular-nums">{formatNumber(processes)}</p>
      </div>
    </div>
  )
}
