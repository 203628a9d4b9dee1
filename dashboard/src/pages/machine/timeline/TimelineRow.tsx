import type { ReactNode } from 'react'
import { formatMoment } from '../../../format.ts'

/** A row of the timeline: what happened, and when. */
export function TimelineRow({
  at,
  beside,
  below,
  children,
}: {
  readonly at: string
  /** Below the time. */
  readonly beside?: ReactNode
  /** Below all of it. */
  readonly below?: ReactNode
  readonly children: ReactNode
}) {
  return (
    <li className="flex flex-wrap gap-x-4 gap-y-0.5 px-3 py-2">
      <div className="min-w-0 flex-1 basis-64">{children}</div>
      <div className="text-[13px] text-muted sm:text-right">
        <time dateTime={at} className="tabular-nums">
          {formatMoment(at)}
        </time>
        {beside}
      </div>
      {below && <div className="w-full">{below}</div>}
    </li>
  )
}
