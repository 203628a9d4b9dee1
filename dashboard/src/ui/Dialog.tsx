import { Dialog as Base } from '@base-ui/react/dialog'
import { useState, type ReactNode } from 'react'
import { Button } from './Button.tsx'
import { cx } from './cx.ts'
import { X } from './icons.ts'

export type DialogProps = {
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
  readonly title: string
  readonly description?: ReactNode
  readonly children?: ReactNode
  readonly wide?: boolean | undefined
  /** It shows what is not shown again, so neither Escape nor a press outside closes it. */
  readonly sticky?: boolean | undefined
}

/** A modal dialog. Escape and a press outside close it; the focus returns to what opened it. */
export function Dialog(props: DialogProps) {
  const { open, onOpenChange, sticky = false } = props
  const [isHeld, setHeld] = useState(false)
  const change: Base.Root.Props['onOpenChange'] = (next, details) => {
    if (sticky && details.reason === 'escape-key') {
      details.cancel()
      setHeld(true)
    } else onOpenChange(next)
  }
  return (
    <Base.Root open={open} onOpenChange={change} disablePointerDismissal={sticky}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-shade" />
        <Base.Viewport className="fixed inset-0 z-40 flex items-start justify-center overflow-y-auto p-4 sm:pt-[10vh]">
          <Popup {...props} isHeld={isHeld} />
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  )
}

/** Exists only while the dialog is open. */
function Popup({
  title,
  description,
  children,
  wide,
  isHeld,
}: DialogProps & { readonly isHeld: boolean }) {
  // Read while rendering: a field with `autoFocus` takes the focus before any effect runs.
  const [opener] = useState(() => document.activeElement)
  return (
    <Base.Popup
      finalFocus={() => (opener instanceof HTMLElement && opener.isConnected ? opener : null)}
      className={cx(
        'relative w-full rounded-xl border border-line bg-raised p-5 shadow-pop outline-none',
        wide ? 'max-w-2xl' : 'max-w-md',
      )}
    >
      <Base.Title className="pr-8 text-base font-semibold break-words">{title}</Base.Title>
      {description && (
        <Base.Description className="mt-1 text-muted" render={<div />}>
          {description}
        </Base.Description>
      )}
      {children && <div className="mt-4">{children}</div>}
      <p role="status" className={cx('text-[13px] text-muted', isHeld && 'mt-3')}>
        {isHeld && 'This is shown only now. Copy it, then close this with the button.'}
      </p>
      <Base.Close
        render={
          <Button
            look="ghost"
            size="small"
            label="Close"
            icon={<X />}
            className="absolute! top-4 right-4"
          />
        }
      />
    </Base.Popup>
  )
}

/** The row of buttons at the end of a dialog; the last one is the action. */
export function DialogButtons({ children }: { readonly children: ReactNode }) {
  return <div className="mt-5 flex flex-wrap justify-end gap-2">{children}</div>
}
