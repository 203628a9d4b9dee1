import { Field as Base } from '@base-ui/react/field'
import type { ComponentProps, ReactNode } from 'react'
import { cx } from './cx.ts'

const box =
  'w-full rounded-md border border-line-strong bg-raised px-2.5 text-sm text-fg outline-none focus-visible:border-accent-fg focus-visible:ring-2 focus-visible:ring-accent-fg/30 data-[invalid]:border-bad'

type Common = {
  readonly label: string
  readonly name: string
  readonly hint?: ReactNode
  /** Shown instead of the hint. */
  readonly error?: string | undefined
  /** The label is for screen readers alone, where the place says it already. */
  readonly hideLabel?: boolean | undefined
}

export type TextFieldProps = Common &
  Omit<ComponentProps<typeof Base.Control>, keyof Common | 'className'>

/** A labelled text field. Native constraints (required, pattern, minLength) are checked on submit. */
export function TextField({ label, name, hint, error, hideLabel, ...control }: TextFieldProps) {
  return (
    <Base.Root name={name} invalid={error !== undefined} className="flex flex-col gap-1">
      <Base.Label className={hideLabel ? 'sr-only' : 'text-[13px] font-medium'}>{label}</Base.Label>
      <Base.Control {...control} className={cx(box, 'h-8')} />
      <Below hint={hint} error={error} />
    </Base.Root>
  )
}

export type TextAreaProps = Common &
  Omit<ComponentProps<typeof Base.Control>, keyof Common | 'className' | 'render'> & {
    readonly rows?: number | undefined
    readonly mono?: boolean | undefined
  }

export function TextArea({
  label,
  name,
  hint,
  error,
  hideLabel,
  rows = 4,
  mono,
  ...control
}: TextAreaProps) {
  return (
    <Base.Root name={name} invalid={error !== undefined} className="flex flex-col gap-1">
      <Base.Label className={hideLabel ? 'sr-only' : 'text-[13px] font-medium'}>{label}</Base.Label>
      <Base.Control
        {...control}
        render={<textarea rows={rows} />}
        className={cx(box, 'py-1.5', mono && 'font-mono text-[13px]')}
      />
      <Below hint={hint} error={error} />
    </Base.Root>
  )
}

/** The server's message for a field, else the browser's, else the hint. */
function Below({ hint, error }: Pick<Common, 'hint' | 'error'>) {
  return (
    <>
      {error === undefined ? (
        <Base.Error className="text-xs text-bad" />
      ) : (
        <Base.Error match className="text-xs text-bad">
          {error}
        </Base.Error>
      )}
      {hint && error === undefined && (
        <Base.Description className="text-xs text-muted" render={<div />}>
          {hint}
        </Base.Description>
      )}
    </>
  )
}
