import { Checkbox as Base } from '@base-ui/react/checkbox'
import { useId, type ReactNode } from 'react'
import { Check, Minus } from './icons.ts'

/** A box that is checked, not checked, or partly. */
export function Checkbox({
  label,
  checked,
  onChange,
  partly = false,
  hideLabel,
  hint,
  disabledReason,
}: {
  readonly label: ReactNode
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
  readonly partly?: boolean | undefined
  readonly hideLabel?: boolean | undefined
  readonly hint?: ReactNode
  /** Disables the box and is shown below its label. */
  readonly disabledReason?: string | false | null | undefined
}) {
  const id = useId()
  const below = disabledReason || hint
  return (
    <div className="flex items-start gap-2">
      <Base.Root
        id={id}
        aria-labelledby={`${id}-label`}
        aria-describedby={below ? `${id}-below` : undefined}
        checked={checked}
        indeterminate={partly}
        readOnly={Boolean(disabledReason)}
        aria-disabled={Boolean(disabledReason) || undefined}
        onCheckedChange={(next) => !disabledReason && onChange(next)}
        className="mt-0.5 flex size-4 shrink-0 items-center justify-center rounded border border-line-strong bg-raised text-white data-[checked]:border-accent data-[checked]:bg-accent data-[indeterminate]:border-accent data-[indeterminate]:bg-accent aria-disabled:opacity-50"
      >
        <Base.Indicator className="flex">
          {partly ? (
            <Minus className="size-3" aria-hidden />
          ) : (
            <Check className="size-3" aria-hidden />
          )}
        </Base.Indicator>
      </Base.Root>
      <div className={hideLabel ? 'sr-only' : undefined}>
        <label id={`${id}-label`} htmlFor={id} className="cursor-pointer">
          {label}
        </label>
        {below && (
          <p id={`${id}-below`} className="text-xs text-muted">
            {below}
          </p>
        )}
      </div>
    </div>
  )
}
