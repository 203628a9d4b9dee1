import { limits } from '@computer/sdk/tables'
import { computer } from '../api/client.ts'
import { switchOrganization } from '../api/organizations.ts'
import { Button } from '../ui/Button.tsx'
import { Dialog, DialogButtons } from '../ui/Dialog.tsx'
import { ErrorNotice } from '../ui/ErrorNotice.tsx'
import { TextField } from '../ui/Field.tsx'
import { useForm } from '../ui/use-form.ts'

/** Makes an organization and acts in it. */
export function CreateOrganization({ onClose }: { readonly onClose: () => void }) {
  const form = useForm(['name'], async (values) => {
    const { id } = await computer.organizations.create(String(values.get('name')))
    await switchOrganization(id)
  })
  return (
    <Dialog
      open
      onOpenChange={onClose}
      title="Create an organization"
      description="It has machines, members, keys and a bill of its own. You are its owner."
    >
      <form onSubmit={form.submit} className="space-y-3">
        <TextField
          label="Name"
          name="name"
          required
          maxLength={limits.organizationName.maxLength}
          error={form.errorOf('name')}
          autoFocus
        />
        {form.error !== undefined && <ErrorNotice error={form.error} />}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={form.isBusy}>
            Create
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}
