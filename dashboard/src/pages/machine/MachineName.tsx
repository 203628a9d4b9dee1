import type { MachineRecord } from '@computer/sdk'
import { limits } from '@computer/sdk/tables'
import { useState } from 'react'
import { updateMachine } from '../../api/machine-actions.ts'
import { useDenial } from '../../api/session.ts'
import { Button } from '../../ui/Button.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { TextField } from '../../ui/Field.tsx'
import { Pencil } from '../../ui/icons.ts'
import { useForm } from '../../ui/use-form.ts'

/** The heading of the page, which becomes a field when it is edited. */
export function MachineName({ machine }: { readonly machine: MachineRecord }) {
  const [isEditing, setEditing] = useState(false)
  const denied = useDenial('machines:control')
  const form = useForm(['name'], async (values) => {
    const name = String(values.get('name')).trim()
    if (name !== machine.name) await updateMachine(machine, { name })
    setEditing(false)
  })
  if (!isEditing)
    return (
      <span className="flex min-w-0 items-center gap-1">
        <h1 className="truncate text-lg font-semibold">{machine.name}</h1>
        <Button
          look="ghost"
          size="small"
          label="Rename"
          icon={<Pencil />}
          disabledReason={denied}
          onClick={() => setEditing(true)}
        />
      </span>
    )
  return (
    <form onSubmit={form.submit} className="flex flex-wrap items-start gap-2">
      <TextField
        label="Name"
        hideLabel
        name="name"
        defaultValue={machine.name}
        required
        maxLength={limits.machineName.maxLength}
        pattern={limits.machineName.pattern}
        error={form.errorOf('name')}
        autoComplete="off"
        autoFocus
        onKeyDown={({ key }) => key === 'Escape' && setEditing(false)}
      />
      <Button type="submit" look="primary" busy={form.isBusy}>
        Rename
      </Button>
      <Button onClick={() => setEditing(false)}>Cancel</Button>
      {form.error !== undefined && <ErrorNotice error={form.error} />}
    </form>
  )
}
