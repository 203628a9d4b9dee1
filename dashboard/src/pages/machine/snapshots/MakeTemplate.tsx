import type { Snapshot } from '@computer/sdk'
import { useNavigate } from '@tanstack/react-router'
import { createTemplate } from '../../../api/templates.ts'
import { Button } from '../../../ui/Button.tsx'
import { Dialog, DialogButtons } from '../../../ui/Dialog.tsx'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { notify } from '../../../ui/notify.ts'
import { useForm } from '../../../ui/use-form.ts'
import { TemplateFields } from '../../templates/TemplateFields.tsx'

/** Makes a snapshot the starting point of new machines. */
export function MakeTemplate({
  snapshot,
  onClose,
}: {
  readonly snapshot: Snapshot
  readonly onClose: () => void
}) {
  const navigate = useNavigate()
  const form = useForm(['name', 'description'], async (values) => {
    const name = String(values.get('name')).trim()
    const description = String(values.get('description'))
    await createTemplate({ name, description, snapshotId: snapshot.id })
    onClose()
    notify(`Template “${name}” is made`)
    await navigate({ to: '/templates' })
  })
  return (
    <Dialog
      open
      onOpenChange={onClose}
      title="Make a template"
      description={
        <p className="break-words">
          New machines can start with the disk of “<bdi>{snapshot.name}</bdi>”, with the files and
          sign-ins that are on it.
        </p>
      }
    >
      <form onSubmit={form.submit} className="space-y-3">
        <TemplateFields form={form} />
        {form.error !== undefined && <ErrorNotice error={form.error} />}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={form.isBusy}>
            Make the template
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}
