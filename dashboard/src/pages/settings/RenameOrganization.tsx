import { limits } from '@computer/sdk/tables'
import { useState } from 'react'
import { renameOrganization } from '../../api/members.ts'
import { useDenial, useSession } from '../../api/session.ts'
import { Button } from '../../ui/Button.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { TextField } from '../../ui/Field.tsx'
import { isolate } from '../../ui/isolate.ts'
import { notify } from '../../ui/notify.ts'
import { useForm } from '../../ui/use-form.ts'

export function RenameOrganization() {
  const { organization } = useSession()
  const denied = useDenial('members:manage')
  const [name, setName] = useState(organization.name)
  const form = useForm(['name'], async () => {
    await renameOrganization(organization.id, name.trim())
    notify(`The organization is called ${isolate(name.trim())} now`)
  })
  const isSame = name.trim() === organization.name
  return (
    <form onSubmit={form.submit} className="space-y-3">
      <div className="flex flex-wrap items-start gap-2">
        <div className="min-w-0 flex-1 basis-56">
          <TextField
            label="Name of the organization"
            hideLabel
            name="name"
            value={name}
            onValueChange={setName}
            readOnly={denied !== undefined}
            required
            maxLength={limits.organizationName.maxLength}
            error={form.errorOf('name')}
            autoComplete="off"
          />
        </div>
        <Button
          type="submit"
          look="primary"
          busy={form.isBusy}
          disabledReason={denied ?? (isSame && 'This is its name already.')}
        >
          Rename
        </Button>
      </div>
      {form.error !== undefined && <ErrorNotice error={form.error} />}
    </form>
  )
}
