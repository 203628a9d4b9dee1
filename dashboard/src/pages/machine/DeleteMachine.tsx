import type { MachineRecord } from '@computer/sdk'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { deleteMachine } from '../../api/machine-actions.ts'
import { useDenial } from '../../api/session.ts'
import { Checkbox } from '../../ui/Checkbox.tsx'
import { Confirm } from '../../ui/Confirm.tsx'
import { notify } from '../../ui/notify.ts'

/** Asks for the machine's name, because its disk goes. */
export function DeleteMachine({
  machine,
  onClose,
}: {
  readonly machine: MachineRecord
  readonly onClose: () => void
}) {
  const { id, name } = machine
  const navigate = useNavigate()
  const { machineId: shown } = useParams({ strict: false })
  const [withSnapshots, setWithSnapshots] = useState(false)
  const snapshotsDenied = useDenial('snapshots:delete')
  const remove = async () => {
    await deleteMachine(machine, withSnapshots ? 'delete' : undefined)
    notify(`${name} is being deleted`)
    if (shown === id) await navigate({ to: '/' })
  }
  return (
    <Confirm
      open
      onOpenChange={onClose}
      title={`Delete ${name}`}
      action="Delete"
      typed={name}
      onConfirm={remove}
    >
      <p>Its disk is destroyed. Forks and templates made from it stay.</p>
      <Checkbox
        label="Delete its snapshots too"
        checked={withSnapshots}
        onChange={setWithSnapshots}
        disabledReason={snapshotsDenied}
        hint="Otherwise they stay, count as storage, and can be forked."
      />
    </Confirm>
  )
}
