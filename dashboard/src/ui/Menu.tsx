import { Menu as Base } from '@base-ui/react/menu'
import type { ReactElement, ReactNode } from 'react'
import { cx } from './cx.ts'

/** A menu of actions that opens from its trigger. */
export function Menu({
  trigger,
  children,
  align = 'end',
  finalFocus,
}: {
  readonly trigger: ReactElement
  readonly children: ReactNode
  readonly align?: 'start' | 'end' | undefined
  /** What gets the focus when the menu closes; true, the default, is its trigger. */
  readonly finalFocus?: (() => HTMLElement | true) | undefined
}) {
  return (
    <Base.Root modal={false}>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner className="z-50 outline-none" sideOffset={4} align={align}>
          <Base.Popup
            finalFocus={finalFocus}
            className="max-h-[70vh] min-w-44 overflow-y-auto rounded-lg border border-line bg-raised p-1 shadow-pop outline-none"
          >
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}

export function MenuItem({
  icon,
  children,
  onSelect,
  disabledReason,
  danger,
  shortcut,
}: {
  readonly icon?: ReactNode
  readonly children: ReactNode
  readonly onSelect: () => void
  /** Disables the item and is shown below its name. */
  readonly disabledReason?: string | false | null | undefined
  readonly danger?: boolean | undefined
  readonly shortcut?: string | undefined
}) {
  return (
    <Base.Item
      onClick={onSelect}
      disabled={Boolean(disabledReason)}
      className={cx(
        'flex cursor-pointer items-start gap-2 rounded-md px-2 py-1.5 text-sm outline-none data-[highlighted]:bg-hover',
        'data-[disabled]:cursor-not-allowed data-[disabled]:text-muted [&_svg]:mt-0.5 [&_svg]:size-4 [&_svg]:shrink-0',
        danger && !disabledReason && 'text-bad',
      )}
    >
      {icon}
      <span className="flex-1">
        {children}
        {disabledReason && (
          <span className="block max-w-64 text-xs text-muted">{disabledReason}</span>
        )}
      </span>
      {shortcut && <kbd className="text-xs text-muted">{shortcut}</kbd>}
    </Base.Item>
  )
}

export function MenuLabel({ children }: { readonly children: ReactNode }) {
  return <div className="px-2 py-1 text-xs font-medium text-muted">{children}</div>
}

export function MenuSeparator() {
  return <Base.Separator className="my-1 h-px bg-line" />
}
