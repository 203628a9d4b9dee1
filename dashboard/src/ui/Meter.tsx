import { cx } from './cx.ts'

/** How much of an amount is used, as a bar and as text. */
export function Meter({
  label,
  used,
  of,
  text,
  note,
}: {
  readonly label: string
  /** Null while it is not known. */
  readonly used: number | null
  readonly of: number
  readonly text: string
  readonly note?: string | undefined
}) {
  const percent = used === null ? 0 : Math.min(100, Math.max(0, (used / of) * 100))
  return (
    <div className="rounded-lg border border-line bg-raised p-3">
      <h2 className="text-[13px] text-muted">{label}</h2>
      <p className="text-base font-medium tabular-nums">{text}</p>
      <div
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(percent)}
        aria-valuetext={text}
        className="mt-2 h-1.5 overflow-hidden rounded-full bg-sunken"
      >
        <div
          className={cx('h-full rounded-full', percent >= 90 ? 'bg-bad' : 'bg-accent-fg')}
          style={{ width: `${percent}%` }}
        />
      </div>
      {note && <p className="mt-1.5 text-xs text-muted">{note}</p>}
    </div>
  )
}
