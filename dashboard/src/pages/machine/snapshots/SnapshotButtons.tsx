import type { Snapshot } from '@computer/sdk'
import { useDenial } from '../../../api/session.ts'
import { Button } from '../../../ui/Button.tsx'
import { Boxes, Trash2 } from '../../../ui/icons.ts'
import type { Asked } from './SnapshotDialogs.tsx'
import { whyNotReady } from './steps.ts'

/** What can be done with a snapshot besides a fork and a restore. */
export function SnapshotButtons({
  snapshot,
  blocker,
  onAsk,
}: {
  readonly snapshot: Snapshot
  /** Why it cannot be deleted now. */
  readonly blocker: string | undefined
  readonly onAsk: (what: Asked['what']) => void
}) {
  const templateDenied = useDenial('templates:write')
  const deleteDenied = useDenial('snapshots:delete')
  return (
    <>
      <Button
        look="ghost"
        size="small"
        label={`Make a template from ${snapshot.name}`}
        icon={<Boxes aria-hidden />}
        disabledReason={templateDenied ?? whyNotReady(snapshot)}
        onClick={() => onAsk('template')}
      />
      <Button
        look="ghost"
        size="small"
        label={`Delete ${snapshot.name}`}
        icon={<Trash2 aria-hidden />}
        disabledReason={deleteDenied ?? blocker}
        onClick={() => onAsk('delete')}
      />
    </>
  )
}
