import { Dialog } from '@base-ui/react/dialog'
import type { ReactNode } from 'react'

/** Lies over the page at its left edge, such as the sidebar on a narrow screen. */
export function Drawer({
  title,
  onClose,
  children,
}: {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
}) {
  return (
    <Dialog.Root open onOpenChange={onClose}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-shade" />
        <Dialog.Popup className="fixed inset-y-0 left-0 z-40 flex bg-page shadow-pop outline-none">
          <Dialog.Title className="sr-only">{title}</Dialog.Title>
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
