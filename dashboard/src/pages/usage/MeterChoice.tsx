import type { Meter, UsagePoint } from '@computer/sdk'
import { formatQuantity, meterWords, sumOf } from '../../quantities.ts'
import { cx } from '../../ui/cx.ts'

/** The sums of all meters, of which one is looked at. */
export function MeterChoice({
  meters,
  points,
  value,
  onChange,
}: {
  readonly meters: readonly Meter[]
  readonly points: readonly UsagePoint[]
  readonly value: Meter
  readonly onChange: (meter: Meter) => void
}) {
  return (
    <fieldset>
      <legend className="sr-only">Meter</legend>
      <div className="grid grid-cols-2 gap-2 sm:grid-cols-3 lg:grid-cols-6">
        {meters.map((meter) => {
          const own = points.filter((point) => point.meter === meter)
          return (
            <label
              key={meter}
              className={cx(
                'flex cursor-pointer flex-col rounded-lg border p-3 hover:bg-hover has-focus-visible:outline-2 has-focus-visible:outline-accent-fg',
                meter === value ? 'border-accent bg-accent-soft' : 'border-line bg-raised',
              )}
            >
              <input
                type="radio"
                name="meter"
                value={meter}
                checked={meter === value}
                onChange={() => onChange(meter)}
                className="sr-only"
              />
              <span className="text-[13px] text-muted">{meterWords[meter]}</span>
              <span className="text-base font-medium tabular-nums">
                {formatQuantity(meter, sumOf(own.map(({ quantity }) => quantity)))}
              </span>
            </label>
          )
        })}
      </div>
    </fieldset>
  )
}
