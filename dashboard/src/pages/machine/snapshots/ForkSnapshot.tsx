import type { MachineRecord, Snapshot } from '@computer/sdk'
import { limits } from '@computer/sdk/tables'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { forkMachine } from '../../../api/machine-actions.ts'
import { Button } from '../../../ui/Button.tsx'
import { Dialog, DialogButtons } from '../../../ui/Dialog.tsx'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { TextField } from '../../../ui/Field.tsx'
import { Time } from '../../../ui/Time.tsx'
import { useForm } from '../../../ui/use-form.ts'

/** A new machine with the disk of a snapshot. The name is filled in, so that one press is enough. */
export function ForkSnapshot({
  machine,
  snapshot,
  onClose,
}: {
  readonly machine: MachineRecord
  readonly snapshot: Snapshot
  readonly onClose: () => void
}) {
  const navigate = useNavigate()
  const [suggestion] = useState(() => suggestName(machine.name))
  const form = useForm(['name'], async (values) => {
    const name = String(values.get('name')).trim()
    const fork = await forkMachine(machine, {
      snapshotId: snapshot.id,
      ...(name !== '' && { name }),
    })
    onClose()
    await navigate({ to: '/m/$machineId', params: { machineId: fork.id } })
  })
  return (
    <Dialog
      open
      onOpenChange={onClose}
      title={`Fork ${machine.name}`}
      description={
        <p className="break-words">
          The new machine starts with the disk of “<bdi>{snapshot.name}</bdi>”, which was taken{' '}
          <Time iso={snapshot.createdAt} />. {machine.name} is not affected. Secrets are not copied.
        </p>
      }
    >
      <form onSubmit={form.submit} className="space-y-3">
        <TextField
          label="Name of the new machine"
          name="name"
          defaultValue={suggestion}
          maxLength={limits.machineName.maxLength}
          pattern={limits.machineName.pattern}
          error={form.errorOf('name')}
          hint="Lower-case letters, digits and hyphens. Left empty, the server chooses one."
          autoComplete="off"
        />
        {form.error !== undefined && <ErrorNotice error={form.error} />}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={form.isBusy} autoFocus>
            Fork
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}

/** Names are unique, and a second fork must not need another name first: "agent-fork-4k2". */
function suggestName(source: string): string {
  const random = Math.floor(Math.random() * 36 ** 3)
  const ending = `-fork-${random.toString(36).padStart(3, '0')}`
  return source.slice(0, limits.machineName.maxLength - ending.length) + ending
}
