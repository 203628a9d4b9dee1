import { Select as Base } from '@base-ui/react/select'
import { useId, useState, type ReactNode } from 'react'
import { cx } from './cx.ts'
import { Check, ChevronsUpDown } from './icons.ts'
import { Tooltip } from './Tooltip.tsx'

export type Choice<T extends string> = {
  readonly value: T
  readonly label: string
  /** A second line in the list. */
  readonly detail?: ReactNode
  readonly disabled?: boolean | undefined
}

/** A labelled choice of one value. */
export function Select<T extends string>({
  label,
  value,
  onChange,
  choices,
  hideLabel,
  hint,
  disabledReason,
  className,
}: {
  readonly label: string
  readonly value: T
  readonly onChange: (value: T) => void
  readonly choices: readonly Choice<T>[]
  readonly hideLabel?: boolean | undefined
  readonly hint?: ReactNode
  /** Keeps the value as it is and tells why: on hover, on focus and to screen readers. */
  readonly disabledReason?: string | false | null | undefined
  readonly className?: string | undefined
}) {
  const labelId = useId()
  const reasonId = useId()
  const reason = disabledReason || undefined
  const [isOpen, setOpen] = useState(false)
  const trigger = (
    <Base.Trigger
      aria-labelledby={labelId}
      aria-disabled={reason ? true : undefined}
      aria-describedby={reason && reasonId}
      className={cx(
        'flex h-8 w-full min-w-28 items-center justify-between gap-2 rounded-md border border-line-strong bg-raised px-2.5 text-left text-sm hover:bg-hover',
        reason && 'border-line! bg-sunken! text-muted!',
      )}
    >
      <Base.Value className="truncate" />
      <ChevronsUpDown className="size-3.5 shrink-0 text-muted" aria-hidden />
    </Base.Trigger>
  )
  return (
    <div className={cx('flex flex-col gap-1', className)}>
      <span id={labelId} className={hideLabel ? 'sr-only' : 'text-[13px] font-medium'}>
        {label}
      </span>
      <Base.Root
        value={value}
        items={choices}
        onValueChange={(next) => next !== null && onChange(next as T)}
        modal={false}
        readOnly={reason !== undefined}
        open={isOpen && reason === undefined}
        onOpenChange={setOpen}
      >
        {reason ? <Tooltip text={reason}>{trigger}</Tooltip> : trigger}
        <Base.Portal>
          <Base.Positioner
            className="z-50 outline-none"
            sideOffset={4}
            alignItemWithTrigger={false}
          >
            <Base.Popup className="max-h-80 max-w-[min(26rem,var(--available-width))] min-w-(--anchor-width) overflow-y-auto rounded-lg border border-line bg-raised p-1 shadow-pop">
              <Base.List>
                {choices.map((choice) => (
                  <Base.Item
                    key={choice.value}
                    value={choice.value}
                    disabled={choice.disabled ?? false}
                    className="flex cursor-pointer items-start gap-2 rounded-md px-2 py-1.5 outline-none data-[disabled]:cursor-not-allowed data-[disabled]:text-muted data-[highlighted]:bg-hover"
                  >
                    <span className="mt-0.5 size-4 shrink-0">
                      <Base.ItemIndicator>
                        <Check className="size-4" aria-hidden />
                      </Base.ItemIndicator>
                    </span>
                    <span>
                      <Base.ItemText className="block">{choice.label}</Base.ItemText>
                      {choice.detail && (
                        <span className="block text-xs text-muted">{choice.detail}</span>
                      )}
                    </span>
                  </Base.Item>
                ))}
              </Base.List>
            </Base.Popup>
          </Base.Positioner>
        </Base.Portal>
      </Base.Root>
      {reason && (
        <span id={reasonId} hidden>
          {reason}
        </span>
      )}
      {hint && <div className="text-xs text-muted">{hint}</div>}
    </div>
  )
}
