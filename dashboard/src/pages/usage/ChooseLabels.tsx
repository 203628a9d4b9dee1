import { useState } from 'react'
import { useDenial } from '../../api/session.ts'
import { setUsageLabels } from '../../api/usage.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog, DialogButtons } from '../../ui/Dialog.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { TextField } from '../../ui/Field.tsx'
import { useForm } from '../../ui/use-form.ts'

/** Chooses the keys of metadata that usage is counted by. */
export function ChooseLabels({ keys }: { readonly keys: readonly string[] }) {
  const denied = useDenial('billing:manage')
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setOpen(true)} disabledReason={denied}>
        Choose labels
      </Button>
      {isOpen && <LabelsDialog keys={keys} onClose={() => setOpen(false)} />}
    </>
  )
}

function LabelsDialog({
  keys,
  onClose,
}: {
  readonly keys: readonly string[]
  readonly onClose: () => void
}) {
  const form = useForm(['keys'], async (values) => {
    const texts = String(values.get('keys')).split(',')
    const chosen = texts.map((text) => text.trim()).filter((text) => text !== '')
    await setUsageLabels(chosen)
    onClose()
  })
  return (
    <Dialog open onOpenChange={onClose} title="Labels of usage">
      <form onSubmit={form.submit} className="space-y-3">
        <p className="text-muted">
          Usage is counted by the values of these keys in the metadata of machines, from now on.
        </p>
        <TextField
          label="Keys of metadata"
          name="keys"
          defaultValue={keys.join(', ')}
          placeholder="team, task"
          hint="At most five, with commas between them."
          error={form.errorOf('keys')}
          autoComplete="off"
        />
        {form.error !== undefined && <ErrorNotice error={form.error} />}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={form.isBusy}>
            Save
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}
