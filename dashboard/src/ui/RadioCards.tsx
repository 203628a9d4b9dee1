import { useId, type ReactNode } from 'react'
import { cx } from './cx.ts'

/** A choice of one among few that need a line of explanation each. */
export function RadioCards<T extends string>({
  label,
  name,
  value,
  onChange,
  choices,
  error,
  layout = 'column',
  hideLabel,
}: {
  readonly label: string
  readonly name: string
  readonly value: T
  readonly onChange: (value: T) => void
  readonly choices: readonly {
    readonly value: T
    readonly label: string
    readonly detail?: ReactNode
  }[]
  readonly error?: string | undefined
  readonly layout?: 'column' | 'row' | undefined
  readonly hideLabel?: boolean | undefined
}) {
  const id = useId()
  return (
    <fieldset aria-describedby={error ? `${id}-error` : undefined}>
      <legend className={hideLabel ? 'sr-only' : 'mb-1 text-[13px] font-medium'}>{label}</legend>
      <div className={layout === 'row' ? 'flex flex-wrap gap-1.5' : 'space-y-1.5'}>
        {choices.map((choice) => (
          <label
            key={choice.value}
            className={cx(
              'flex cursor-pointer items-start gap-2 rounded-md border px-2.5 py-2 hover:bg-hover',
              choice.value === value ? 'border-accent bg-accent-soft' : 'border-line',
            )}
          >
            <input
              type="radio"
              name={name}
              value={choice.value}
              checked={choice.value === value}
              onChange={() => onChange(choice.value)}
              aria-describedby={choice.detail ? `${id}-${choice.value}` : undefined}
              aria-label={choice.label}
              className="mt-1 accent-accent"
            />
            <span className="min-w-0">
              <span className="block">{choice.label}</span>
              {choice.detail && (
                <span id={`${id}-${choice.value}`} className="block text-xs text-muted">
                  {choice.detail}
                </span>
              )}
            </span>
          </label>
        ))}
      </div>
      {error && (
        <p id={`${id}-error`} className="mt-1 text-xs text-bad">
          {error}
        </p>
      )}
    </fieldset>
  )
}
