import type { Meter, UsagePoint } from '@computer/sdk'
import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import { formatHour, formatShortDay } from '../../format.ts'
import { amountOf, formatAmount } from '../../quantities.ts'
import { startPlot, type Plot } from '../../ui/plot.ts'
import { dayMs, type Window } from './window.ts'

const height = 176
/** A time that has just begun is as wide as this many buckets. */
const fewest = 12

/** The buckets of a series as bars. The table beside it says the same to screen readers. */
export function Bars({
  meter,
  points,
  window,
  bucketSeconds,
}: {
  readonly meter: Meter
  readonly points: readonly UsagePoint[]
  readonly window: Window
  readonly bucketSeconds: number
}) {
  const holder = useRef<HTMLDivElement>(null)
  const bar = useRef<HTMLSpanElement>(null)
  const plot = useRef<Plot>(undefined)
  const { start, end } = window
  useEffect(() => {
    const isDaily = bucketSeconds * 1000 === dayMs
    const until = Math.min(Date.parse(end), Date.now()) / 1000 + bucketSeconds / 2
    const from = Math.min(Date.parse(start) / 1000, until - fewest * bucketSeconds)
    plot.current = startPlot(holder.current!, height, (colourOf) => ({
      scales: {
        x: { range: [from - bucketSeconds / 2, until] },
        y: { range: (_, __, most) => [0, Math.max(most * 1.1, Number.MIN_VALUE)] },
      },
      steps: [1, 2, 3, 6, 12, 24, 48, 168, 336].map((buckets) => buckets * bucketSeconds),
      ticks: [
        (ticks) =>
          ticks.map((tick) => {
            const iso = new Date(tick * 1000).toISOString()
            return isDaily ? formatShortDay(iso) : formatHour(iso)
          }),
        (ticks) => ticks.map((tick) => formatAmount(meter, tick)),
      ],
      series: [
        {},
        {
          fill: colourOf(bar.current!),
          width: 0,
          points: { show: false },
          ...(uPlot.paths.bars && { paths: uPlot.paths.bars({ size: [0.8, 48] }) }),
        },
      ],
    }))
    return () => plot.current?.end()
  }, [meter, start, end, bucketSeconds])
  useEffect(
    () =>
      plot.current?.setData([
        points.map((point) => Date.parse(point.start) / 1000),
        points.map(({ quantity }) => amountOf(meter, quantity)),
      ]),
    [points, meter, start, end, bucketSeconds],
  )
  return (
    <>
      <span ref={bar} aria-hidden className="hidden text-accent-fg" />
      <div ref={holder} aria-hidden className="border-line text-muted" />
    </>
  )
}
