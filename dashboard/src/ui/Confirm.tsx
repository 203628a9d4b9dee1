import { useState, type FormEvent, type ReactNode } from 'react'
import { Button } from './Button.tsx'
import { Dialog, DialogButtons } from './Dialog.tsx'
import { ErrorNotice } from './ErrorNotice.tsx'
import { TextField } from './Field.tsx'

export type ConfirmProps = {
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
  readonly title: string
  /** What will happen, and what will stay. */
  readonly children: ReactNode
  readonly action: string
  readonly look?: 'primary' | 'danger' | undefined
  /** The person must type this text first, such as the name of a machine. */
  readonly typed?: string | undefined
  readonly disabledReason?: string | undefined
  /** The dialog closes when this resolves, and shows the error when it rejects. */
  readonly onConfirm: () => Promise<unknown>
}

/** Asks before an action that cannot be undone. */
export function Confirm(props: ConfirmProps) {
  const { open, onOpenChange, title } = props
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={title}>
      <ConfirmForm {...props} />
    </Dialog>
  )
}

/** Lives only while the dialog is open, so each opening begins afresh. */
function ConfirmForm({
  onOpenChange,
  children,
  action,
  look = 'danger',
  typed,
  disabledReason,
  onConfirm,
}: ConfirmProps) {
  const [text, setText] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const missing = typed !== undefined && text !== typed && `Type ${typed} first.`
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (missing || isBusy || disabledReason) return
    setBusy(true)
    setError(undefined)
    try {
      await onConfirm()
      onOpenChange(false)
    } catch (caught) {
      setError(caught)
      setBusy(false)
    }
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <div className="space-y-3 text-muted">{children}</div>
      {typed !== undefined && (
        <div className="mt-3">
          <TextField
            label={`Type ${typed} to confirm`}
            name="typed"
            value={text}
            onValueChange={setText}
            autoComplete="off"
            autoFocus
          />
        </div>
      )}
      {error !== undefined && (
        <div className="mt-3">
          <ErrorNotice error={error} />
        </div>
      )}
      <DialogButtons>
        <Button autoFocus={typed === undefined} onClick={() => onOpenChange(false)}>
          Cancel
        </Button>
        <Button type="submit" look={look} busy={isBusy} disabledReason={disabledReason ?? missing}>
          {action}
        </Button>
      </DialogButtons>
    </form>
  )
}
