import type { MachineRecord, Snapshot } from '@computer/sdk'
import { deleteSnapshot } from '../../../api/snapshots.ts'
import { Confirm } from '../../../ui/Confirm.tsx'
import { ForkSnapshot } from './ForkSnapshot.tsx'
import { MakeTemplate } from './MakeTemplate.tsx'
import { RestoreSnapshot } from './RestoreSnapshot.tsx'

/** What a person wants to do with which snapshot. */
export type Asked = {
  readonly what: 'fork' | 'restore' | 'template' | 'delete'
  readonly snapshot: Snapshot
}

/** The question behind each button of a snapshot. */
export function SnapshotDialogs({
  machine,
  asked,
  onClose,
}: {
  /** Undefined if it is deleted, or not read yet. */
  readonly machine: MachineRecord | undefined
  readonly asked: Asked | undefined
  readonly onClose: () => void
}) {
  if (!asked) return null
  const { what, snapshot } = asked
  if (what === 'template') return <MakeTemplate snapshot={snapshot} onClose={onClose} />
  if (what === 'delete')
    return (
      <Confirm
        open
        onOpenChange={onClose}
        title={`Delete “${snapshot.name}”`}
        action="Delete"
        onConfirm={() => deleteSnapshot(snapshot)}
      >
        <p>
          The disk that it keeps is destroyed, and the machine can no longer return to it. Forks and
          templates that were made from it stay.
        </p>
      </Confirm>
    )
  if (!machine) return null
  if (what === 'fork')
    return <ForkSnapshot machine={machine} snapshot={snapshot} onClose={onClose} />
  return <RestoreSnapshot machine={machine} snapshot={snapshot} onClose={onClose} />
}
