import type { MachineRecord } from '@computer/sdk'
import { useState } from 'react'
import { useDenial } from '../../api/session.ts'
import { formatCount } from '../../format.ts'
import { Button } from '../../ui/Button.tsx'
import { Confirm } from '../../ui/Confirm.tsx'
import { Dialog, DialogButtons } from '../../ui/Dialog.tsx'
import { messageOf } from '../../ui/ErrorNotice.tsx'
import { Play, Power, Trash2 } from '../../ui/icons.ts'
import { notify } from '../../ui/notify.ts'
import { stateWords } from '../../words.ts'
import { allows, runBulk, type BulkAction, type BulkResult } from './bulk.ts'
import type { Selection } from './selection.ts'

const doneWords: Readonly<Record<BulkAction, string>> = {
  start: 'starting',
  stop: 'stopping',
  delete: 'being deleted',
}

/** The actions on the selected machines. The selection and the filter stay after an action. */
export function BulkBar({
  machines,
  selection,
}: {
  /** The selected machines that are loaded. */
  readonly machines: readonly MachineRecord[]
  readonly selection: Selection
}) {
  const [busy, setBusy] = useState<BulkAction>()
  const [isAsking, setAsking] = useState(false)
  const [result, setResult] = useState<BulkResult>()
  const controlDenied = useDenial('machines:control')
  const deleteDenied = useDenial('machines:delete')
  const run = async (action: BulkAction) => {
    setBusy(action)
    try {
      const outcome = await runBulk(action, machines)
      if (outcome.failed.length > 0 || outcome.skipped.length > 0) setResult(outcome)
      else notify(`${formatCount(outcome.done.length, 'machine')} ${doneWords[action]}`)
    } finally {
      setBusy(undefined)
    }
  }
  const reason = (action: BulkAction, denied: string | undefined) =>
    denied ?? (machines.some((machine) => allows(action, machine)) ? undefined : noneMay[action])
  return (
    <div
      role="toolbar"
      aria-label="Actions on the selection"
      className="sticky bottom-4 z-10 mx-auto mt-4 flex w-fit max-w-full flex-wrap items-center gap-2 rounded-xl border border-line bg-raised p-2 shadow-pop"
    >
      <span className="px-2 font-medium">{selection.ids.size} selected</span>
      <Button
        icon={<Play aria-hidden />}
        busy={busy === 'start'}
        disabledReason={reason('start', controlDenied)}
        onClick={() => void run('start')}
      >
        Start
      </Button>
      <Button
        icon={<Power aria-hidden />}
        busy={busy === 'stop'}
        disabledReason={reason('stop', controlDenied)}
        onClick={() => void run('stop')}
      >
        Stop
      </Button>
      <Button
        icon={<Trash2 aria-hidden />}
        busy={busy === 'delete'}
        disabledReason={reason('delete', deleteDenied)}
        onClick={() => setAsking(true)}
      >
        Delete
      </Button>
      <Button look="ghost" onClick={selection.clear}>
        Clear
      </Button>
      <Confirm
        open={isAsking}
        onOpenChange={setAsking}
        title={`Delete ${formatCount(machines.length, 'machine')}`}
        action="Delete"
        onConfirm={async () => void run('delete')}
      >
        <p>Their disks are destroyed. Snapshots of them stay.</p>
        <ul className="max-h-40 list-disc overflow-y-auto pl-5 text-fg">
          {machines.map(({ id, name }) => (
            <li key={id}>{name}</li>
          ))}
        </ul>
      </Confirm>
      {result && <BulkReport result={result} onClose={() => setResult(undefined)} />}
    </div>
  )
}

const noneMay: Readonly<Record<BulkAction, string>> = {
  start: 'None of the selected machines is stopped.',
  stop: 'None of the selected machines runs.',
  delete: 'All of the selected machines are being deleted already.',
}

/** Names each machine that the action did not reach, and why. */
function BulkReport({
  result,
  onClose,
}: {
  readonly result: BulkResult
  readonly onClose: () => void
}) {
  const { action, done, failed, skipped } = result
  return (
    <Dialog
      open
      onOpenChange={onClose}
      title={`${formatCount(done.length, 'machine')} ${doneWords[action]}`}
      description="These were not changed. The selection is as it was."
    >
      <ul className="max-h-[50vh] space-y-2 overflow-y-auto">
        {failed.map(({ machine, error }) => (
          <li key={machine.id}>
            <span className="font-medium">{machine.name}</span>
            <span className="block break-words text-bad">{messageOf(error)}</span>
          </li>
        ))}
        {skipped.map(({ id, name, state }) => (
          <li key={id}>
            <span className="font-medium">{name}</span>
            <span className="block text-muted">
              It is {stateWords[state].toLowerCase()}, from where it cannot {action}.
            </span>
          </li>
        ))}
      </ul>
      <DialogButtons>
        <Button look="primary" onClick={onClose}>
          Close
        </Button>
      </DialogButtons>
    </Dialog>
  )
}
