import type { Template } from '@computer/sdk'
import { updateTemplate } from '../../api/templates.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog, DialogButtons } from '../../ui/Dialog.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { useForm } from '../../ui/use-form.ts'
import { TemplateFields } from './TemplateFields.tsx'

export function EditTemplate({
  template,
  onClose,
}: {
  readonly template: Template
  readonly onClose: () => void
}) {
  const form = useForm(['name', 'description'], async (values) => {
    const name = String(values.get('name')).trim()
    await updateTemplate(template.id, { name, description: String(values.get('description')) })
    onClose()
  })
  return (
    <Dialog open onOpenChange={onClose} title={`Edit “${template.name}”`}>
      <form onSubmit={form.submit} className="space-y-3">
        <TemplateFields form={form} template={template} />
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
