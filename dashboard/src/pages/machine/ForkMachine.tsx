import type { MachineRecord } from '@computer/sdk'
import { limits } from '@computer/sdk/tables'
import { useNavigate } from '@tanstack/react-router'
import { forkMachine } from '../../api/machine-actions.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog, DialogButtons } from '../../ui/Dialog.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { TextField } from '../../ui/Field.tsx'
import { useForm } from '../../ui/use-form.ts'

/** A new machine with a copy of this one's disk as it is now. */
export function ForkMachine({
  machine,
  onClose,
}: {
  readonly machine: MachineRecord
  readonly onClose: () => void
}) {
  const navigate = useNavigate()
  const form = useForm(['name'], async (values) => {
    const name = String(values.get('name')).trim()
    const fork = await forkMachine(machine, name === '' ? {} : { name })
    onClose()
    await navigate({ to: '/m/$machineId', params: { machineId: fork.id } })
  })
  return (
    <Dialog
      open
      onOpenChange={onClose}
      title={`Fork ${machine.name}`}
      description="The fork gets a copy of the files, programs and browser profile. Running programs and secrets are not copied."
    >
      <form onSubmit={form.submit} className="space-y-3">
        <TextField
          label="Name of the fork"
          name="name"
          maxLength={limits.machineName.maxLength}
          pattern={limits.machineName.pattern}
          error={form.errorOf('name')}
          hint="Lower-case letters, digits and hyphens. Left empty, the server chooses one."
          autoComplete="off"
          autoFocus
        />
        {form.error !== undefined && <ErrorNotice error={form.error} />}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={form.isBusy}>
            Fork
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}
