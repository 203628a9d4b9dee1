import type { MachineRecord } from '@computer/sdk'
import { limits } from '@computer/sdk/tables'
import { useState } from 'react'
import { updateMachine } from '../../../api/machine-actions.ts'
import { useDenial } from '../../../api/session.ts'
import { Button } from '../../../ui/Button.tsx'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { TextField } from '../../../ui/Field.tsx'
import { notify } from '../../../ui/notify.ts'
import { useForm } from '../../../ui/use-form.ts'

export function NameForm({ machine }: { readonly machine: MachineRecord }) {
  const denied = useDenial('machines:control')
  const [name, setName] = useState(machine.name)
  const form = useForm(['name'], async () => {
    await updateMachine(machine, { name: name.trim() })
    notify(`The machine is called ${name.trim()} now`)
  })
  return (
    <form onSubmit={form.submit} className="space-y-3">
      <TextField
        label="Name"
        hideLabel
        name="name"
        required
        value={name}
        onValueChange={setName}
        maxLength={limits.machineName.maxLength}
        pattern={limits.machineName.pattern}
        error={form.errorOf('name')}
        hint="Lower-case letters, digits and hyphens. Programs that find the machine by its name have to use the new one."
        autoComplete="off"
      />
      {form.error !== undefined && <ErrorNotice error={form.error} />}
      <Button
        type="submit"
        busy={form.isBusy}
        disabledReason={denied ?? (name.trim() === machine.name && 'Type another name first.')}
      >
        Rename
      </Button>
    </form>
  )
}
