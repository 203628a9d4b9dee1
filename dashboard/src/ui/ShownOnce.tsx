import type { ReactNode } from 'react'
import { Button } from './Button.tsx'
import { Code } from './Code.tsx'
import { DialogButtons } from './Dialog.tsx'

/** The end of a dialog that has made a secret, which is shown this once, with lines that use it. */
export function ShownOnce({
  secret,
  label,
  use,
  lines,
  linesLabel,
  children,
  onClose,
}: {
  readonly secret: string
  readonly label: string
  /** Says how to use the secret; the lines do it. */
  readonly use: string
  readonly lines: string
  readonly linesLabel: string
  readonly children?: ReactNode
  readonly onClose: () => void
}) {
  return (
    <div className="space-y-4">
      <Code text={secret} label={label} />
      <div>
        <p className="mb-1 text-[13px] font-medium">{use}</p>
        <Code text={lines} label={linesLabel} />
        {children}
      </div>
      <DialogButtons>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </DialogButtons>
    </div>
  )
}
