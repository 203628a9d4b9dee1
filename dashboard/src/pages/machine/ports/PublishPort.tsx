import type { MachineRecord, Preview, PreviewAccess } from '@computer/sdk'
import { limits } from '@computer/sdk/tables'
import { useState } from 'react'
import { publishPort } from '../../../api/ports.ts'
import { Button } from '../../../ui/Button.tsx'
import { Dialog, DialogButtons } from '../../../ui/Dialog.tsx'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { TextField } from '../../../ui/Field.tsx'
import { useForm } from '../../../ui/use-form.ts'
import { PublishedPort } from './PublishedPort.tsx'

/** Publishes a port, then shows its credentials, which are not shown again. */
export function PublishPort({
  machine,
  onClose,
}: {
  readonly machine: MachineRecord
  readonly onClose: () => void
}) {
  const [published, setPublished] = useState<Preview>()
  if (!published)
    return (
      <Dialog open onOpenChange={onClose} title={`Publish a port of ${machine.name}`}>
        <PublishForm machine={machine} onClose={onClose} onPublished={setPublished} />
      </Dialog>
    )
  return (
    <Dialog
      open
      sticky
      wide
      onOpenChange={onClose}
      title={`Port ${published.port} of ${machine.name} is published`}
    >
      <PublishedPort preview={published} />
      <DialogButtons>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </DialogButtons>
    </Dialog>
  )
}

function PublishForm({
  machine,
  onClose,
  onPublished,
}: {
  readonly machine: MachineRecord
  readonly onClose: () => void
  readonly onPublished: (preview: Preview) => void
}) {
  const form = useForm(['port', 'name', 'access'], async (values) => {
    const name = String(values.get('name')).trim()
    const access = values.get('access') === 'public' ? 'public' : 'private'
    const options = { access, ...(name !== '' && { name }) } as const
    onPublished(await publishPort(machine.id, Number(values.get('port')), options))
  })
  return (
    <form onSubmit={form.submit} className="space-y-3">
      <TextField
        label="Port"
        name="port"
        type="number"
        inputMode="numeric"
        required
        min={limits.port.minimum}
        max={limits.port.maximum}
        placeholder="3000"
        error={form.errorOf('port')}
        hint="The port on the machine. Nothing needs to listen on it yet."
        autoFocus
      />
      <TextField
        label="Name"
        name="name"
        maxLength={limits.previewName.maxLength}
        error={form.errorOf('name')}
        hint="For the list. It may be left empty."
        autoComplete="off"
      />
      <fieldset>
        <legend className="mb-1 text-[13px] font-medium">Access</legend>
        <AccessChoice value="private" label="Private" isDefault>
          Members of this organization open it after signing in. Programs need the secret that is
          shown next.
        </AccessChoice>
        <AccessChoice value="public" label="Public">
          Everyone who has the address can use whatever listens there.
        </AccessChoice>
      </fieldset>
      {form.error !== undefined && <ErrorNotice error={form.error} />}
      <DialogButtons>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" look="primary" busy={form.isBusy}>
          Publish
        </Button>
      </DialogButtons>
    </form>
  )
}

function AccessChoice({
  value,
  label,
  isDefault = false,
  children,
}: {
  readonly value: PreviewAccess
  readonly label: string
  readonly isDefault?: boolean
  readonly children: string
}) {
  return (
    <label className="flex cursor-pointer gap-2 rounded-md p-1.5 hover:bg-hover">
      <input
        type="radio"
        name="access"
        value={value}
        defaultChecked={isDefault}
        className="mt-1 size-3.5 accent-accent"
      />
      <span>
        {label}
        <span className="block text-xs text-muted">{children}</span>
      </span>
    </label>
  )
}
