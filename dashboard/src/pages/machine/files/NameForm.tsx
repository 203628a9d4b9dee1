import { useState, type FormEvent, type ReactNode } from 'react'
import { Button } from '../../../ui/Button.tsx'
import { Dialog, DialogButtons } from '../../../ui/Dialog.tsx'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { TextField } from '../../../ui/Field.tsx'
import { nameFault } from './paths.ts'

/** Asks for the name of a file or folder, or for another text that `faultOf` judges. */
export function NameForm({
  title,
  description,
  label = 'Name',
  action,
  initial = '',
  faultOf = nameFault,
  onSubmit,
  onClose,
  more,
}: {
  readonly title: string
  readonly description?: ReactNode
  readonly label?: string | undefined
  readonly action: string
  readonly initial?: string | undefined
  readonly faultOf?: (text: string) => string | undefined
  /** The dialog closes when this resolves, and shows the error when it rejects. */
  readonly onSubmit: (text: string) => Promise<void>
  readonly onClose: () => void
  /** Below the field, given the error of the last try. */
  readonly more?: ((error: unknown) => ReactNode) | undefined
}) {
  const [text, setText] = useState(initial)
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const fault = faultOf(text)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (fault !== undefined || isBusy) return
    setBusy(true)
    setError(undefined)
    try {
      await onSubmit(text)
      onClose()
    } catch (caught) {
      setError(caught)
      setBusy(false)
    }
  }
  return (
    <Dialog open onOpenChange={onClose} title={title} description={description}>
      <form onSubmit={(event) => void submit(event)} className="space-y-3">
        <TextField
          label={label}
          name="name"
          value={text}
          onValueChange={setText}
          error={text === '' || text === initial ? undefined : fault}
          autoComplete="off"
          spellCheck={false}
          autoFocus
        />
        {error !== undefined && <ErrorNotice error={error} />}
        {more?.(error)}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={isBusy} disabledReason={fault}>
            {action}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}
