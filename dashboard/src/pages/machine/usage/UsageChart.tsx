import { useEffect, useRef } from 'react'
import type { UsageSample } from '../../../api/usage-now.ts'
import { formatMemory, formatNumber, formatTimeOfDay } from '../../../format.ts'
import { cx } from '../../../ui/cx.ts'
import { startPlot, type Plot } from '../../../ui/plot.ts'
import { columnsOf } from './usage-columns.ts'

const height = 140
const dashes = [6, 4]

/** The use of processors and memory since the page was opened, as lines and as a table. */
export function UsageChart({
  samples,
  memoryMb,
}: {
  readonly samples: readonly UsageSample[]
  readonly memoryMb: number
}) {
  return (
    <figure className="rounded-lg border border-line bg-raised p-3">
      <figcaption className="mb-2 text-[13px] text-muted">
        Since you opened this page, in percent
      </figcaption>
      <Lines samples={samples} memoryMb={memoryMb} />
      <details className="mt-2 text-[13px]">
        <summary className="w-fit text-muted">Show as a table</summary>
        <SampleTable samples={samples} />
      </details>
    </figure>
  )
}

function Lines({
  samples,
  memoryMb,
}: {
  readonly samples: readonly UsageSample[]
  readonly memoryMb: number
}) {
  const holder = useRef<HTMLDivElement>(null)
  const cpu = useRef<HTMLSpanElement>(null)
  const memory = useRef<HTMLSpanElement>(null)
  const plot = useRef<Plot>(undefined)
  useEffect(() => {
    plot.current = startPlot(holder.current!, height, (colourOf) => ({
      scales: { y: { range: [0, 100] } },
      ticks: [
        (ticks) => ticks.map((tick) => formatTimeOfDay(tick * 1_000)),
        (ticks) => ticks.map(String),
      ],
      series: [
        {},
        { stroke: colourOf(cpu.current!), width: 2, points: { show: false } },
        { stroke: colourOf(memory.current!), width: 2, dash: dashes, points: { show: false } },
      ],
    }))
    return () => plot.current?.end()
  }, [])
  useEffect(() => plot.current?.setData(columnsOf(samples, memoryMb)), [samples, memoryMb])
  return (
    <>
      <div ref={holder} aria-hidden className="border-line text-muted" />
      <p aria-hidden className="flex gap-4 text-xs text-muted">
        <Key line={cpu} className="text-accent-fg" label="Processors" />
        <Key line={memory} className="border-dashed text-good" label="Memory" />
      </p>
    </>
  )
}

function Key({
  line,
  label,
  className,
}: {
  readonly line: React.RefObject<HTMLSpanElement | null>
  readonly label: string
  readonly className: string
}) {
  return (
    <span className="flex items-center gap-1.5">
      <span ref={line} className={cx('w-5 border-t-2 border-current!', className)} />
      {label}
    </span>
  )
}

function SampleTable({ samples }: { readonly samples: readonly UsageSample[] }) {
  return (
    // A long table scrolls, also by keyboard.
    <div
      role="region"
      aria-label="Samples of use"
      tabIndex={0}
      className="mt-2 max-h-60 overflow-auto"
    >
      <table className="w-full text-left tabular-nums">
        <thead>
          <tr className="text-xs text-muted">
            {['Time', 'Processors', 'Memory', 'Processes'].map((head) => (
              <th key={head} scope="col" className="py-1 pr-3 font-medium">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {samples.toReversed().map(({ at, cpuPercent, memoryUsedMb, processes }) => (
            <tr key={at}>
              <td className="pr-3">{formatTimeOfDay(at)}</td>
              <td className="pr-3">{formatNumber(cpuPercent)} %</td>
              <td className="pr-3">{formatMemory(memoryUsedMb)}</td>
              <td>{formatNumber(processes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
