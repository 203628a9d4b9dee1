import type { Meter, UsagePoint } from '@computer/sdk'
import { lazy, Suspense } from 'react'
import { formatDateTime, formatPeriodDay } from '../../format.ts'
import { formatQuantity, meterWords } from '../../quantities.ts'
import { dayMs, type Window } from './window.ts'

const Bars = lazy(async () => ({ default: (await import('./Bars.tsx')).Bars }))

/** One meter over time, as bars and as a table. */
export function Series({
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
  const width = bucketSeconds * 1000 === dayMs ? 'day' : 'hour'
  return (
    <figure className="rounded-lg border border-line bg-raised p-3">
      <figcaption className="mb-2 text-[13px] text-muted">
        {meterWords[meter]}, each {width}
        {width === 'day' && ' in UTC'}
      </figcaption>
      {points.length === 0 ? (
        <p className="py-8 text-center text-muted">Nothing of this meter was used in this time.</p>
      ) : (
        <>
          <Suspense fallback={<div className="h-44" />}>
            <Bars meter={meter} points={points} window={window} bucketSeconds={bucketSeconds} />
          </Suspense>
          <details className="mt-2 text-[13px]">
            <summary className="w-fit text-muted">Show as a table</summary>
            <PointTable meter={meter} points={points} width={width} />
          </details>
        </>
      )}
    </figure>
  )
}

function PointTable({
  meter,
  points,
  width,
}: {
  readonly meter: Meter
  readonly points: readonly UsagePoint[]
  readonly width: 'hour' | 'day'
}) {
  return (
    // A long table scrolls, also by keyboard.
    <div
      role="region"
      aria-label={`${meterWords[meter]}, each ${width}`}
      tabIndex={0}
      className="mt-2 max-h-60 overflow-auto"
    >
      <table className="w-full text-left tabular-nums">
        <thead>
          <tr className="text-xs text-muted">
            <th scope="col" className="py-1 pr-3 font-medium">
              {width === 'day' ? 'Day' : 'Hour from'}
            </th>
            <th scope="col" className="font-medium">
              Used
            </th>
          </tr>
        </thead>
        <tbody>
          {points.toReversed().map(({ start, quantity }) => (
            <tr key={start}>
              <td className="pr-3">
                {width === 'day' ? formatPeriodDay(start) : formatDateTime(start)}
              </td>
              <td>{formatQuantity(meter, quantity)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
