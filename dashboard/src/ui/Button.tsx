import { useId, type ComponentPropsWithRef, type MouseEvent, type ReactNode } from 'react'
import { cx } from './cx.ts'
import { LoaderCircle } from './icons.ts'
import { Tooltip } from './Tooltip.tsx'

export type ButtonProps = Omit<ComponentPropsWithRef<'button'>, 'disabled'> & {
  readonly look?: 'primary' | 'secondary' | 'ghost' | 'danger' | undefined
  readonly size?: 'small' | 'medium' | undefined
  readonly icon?: ReactNode
  /** The call behind the button is in progress. */
  readonly busy?: boolean | undefined
  /** Disables the button and tells why: on hover, on focus and to screen readers. */
  readonly disabledReason?: string | false | null | undefined
  /** The name of a button that shows only its icon. */
  readonly label?: string | undefined
}

const looks = {
  primary: 'bg-accent text-white border-transparent hover:bg-accent-hover',
  secondary: 'bg-raised text-fg border-line hover:bg-hover',
  ghost: 'bg-transparent text-fg border-transparent hover:bg-hover',
  danger: 'bg-bad-solid text-white border-transparent hover:opacity-90',
}
const inactiveLook = 'bg-sunken! text-muted! border-line! hover:bg-sunken! hover:opacity-100!'
const sizes = { small: 'h-7 px-2 text-[13px] gap-1', medium: 'h-8 px-3 text-sm gap-1.5' }

/** A button stays in the focus order when disabled, so that keyboards and screen readers find its reason. */
export function Button({
  look = 'secondary',
  size = 'medium',
  icon,
  busy = false,
  disabledReason,
  label,
  className,
  children,
  onClick,
  ...rest
}: ButtonProps) {
  const reasonId = useId()
  const reason = disabledReason || undefined
  const isInactive = reason !== undefined || busy
  const press = (event: MouseEvent<HTMLButtonElement>) => {
    if (isInactive) event.preventDefault()
    else onClick?.(event)
  }
  const button = (
    <button
      type="button"
      {...rest}
      aria-label={label ?? rest['aria-label']}
      aria-disabled={isInactive || undefined}
      aria-busy={busy || undefined}
      aria-describedby={reason ? reasonId : rest['aria-describedby']}
      onClick={press}
      className={cx(
        'inline-flex max-w-full shrink-0 overflow-hidden items-center justify-center rounded-md border font-medium whitespace-nowrap',
        'transition-colors [&_svg]:size-4 [&_svg]:shrink-0',
        looks[look],
        sizes[size],
        children === undefined && (size === 'small' ? 'w-7 px-0!' : 'w-8 px-0!'),
        reason && inactiveLook,
        className,
      )}
    >
      {busy ? <LoaderCircle className="animate-spin" aria-hidden /> : icon}
      {children}
    </button>
  )
  if (!reason)
    return label && children === undefined ? <Tooltip text={label}>{button}</Tooltip> : button
  return (
    <>
      <Tooltip text={reason}>{button}</Tooltip>
      <span id={reasonId} hidden>
        {reason}
      </span>
    </>
  )
}
