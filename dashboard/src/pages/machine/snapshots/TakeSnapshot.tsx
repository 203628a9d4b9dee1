import type { MachineRecord } from '@computer/sdk'
import { limits } from '@computer/sdk/tables'
import { takeSnapshot } from '../../../api/snapshots.ts'
import { Button } from '../../../ui/Button.tsx'
import { Dialog, DialogButtons } from '../../../ui/Dialog.tsx'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { TextField } from '../../../ui/Field.tsx'
import { useForm } from '../../../ui/use-form.ts'

/** Captures the disk of a running machine. */
export function TakeSnapshot({
  machine,
  onClose,
}: {
  readonly machine: MachineRecord
  readonly onClose: () => void
}) {
  const form = useForm(['name'], async (values) => {
    const name = String(values.get('name')).trim()
    await takeSnapshot(machine.id, name === '' ? undefined : name)
    onClose()
  })
  return (
    <Dialog
      open
      onOpenChange={onClose}
      title={`Take a snapshot of ${machine.name}`}
      description="It keeps the disk as it is now. The machine keeps running; its memory is not part of it."
    >
      <form onSubmit={form.submit} className="space-y-3">
        <TextField
          label="Name"
          name="name"
          maxLength={limits.snapshotName.maxLength}
          error={form.errorOf('name')}
          hint="Left empty, it is named by its time."
          autoComplete="off"
          autoFocus
        />
        {form.error !== undefined && <ErrorNotice error={form.error} />}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={form.isBusy}>
            Take it
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}
