import { ApiError, type LeaseHolder, type MachineRecord, type Snapshot } from '@computer/sdk'
import { useState, type FormEvent } from 'react'
import { restoreSnapshot } from '../../../api/snapshots.ts'
import { Button } from '../../../ui/Button.tsx'
import { Dialog, DialogButtons } from '../../../ui/Dialog.tsx'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { Time } from '../../../ui/Time.tsx'
import { notify } from '../../../ui/notify.ts'

/** Returns the machine to a snapshot, after telling what becomes of its disk and of those who use it. */
export function RestoreSnapshot({
  machine,
  snapshot,
  onClose,
}: {
  readonly machine: MachineRecord
  readonly snapshot: Snapshot
  readonly onClose: () => void
}) {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const restore = async () => {
    setBusy(true)
    setError(undefined)
    try {
      await restoreSnapshot(snapshot)
      notify(`${machine.name} returns to “${snapshot.name}”`)
      onClose()
    } catch (caught) {
      setError(caught)
      setBusy(false)
    }
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isBusy) void restore()
  }
  return (
    <Dialog open onOpenChange={onClose} title={`Restore ${machine.name}`}>
      <form onSubmit={submit}>
        <div className="space-y-2 text-muted">
          <p className="break-words">
            It returns to “<bdi>{snapshot.name}</bdi>”, which was taken{' '}
            <Time iso={snapshot.createdAt} />.
          </p>
          <p>
            The disk of now is kept as “Before restore”. Anything open on the machine is
            disconnected.
          </p>
          <p>
            {machine.state === 'running'
              ? 'It restarts with the restored disk.'
              : 'It is stopped then: start it to work with the restored disk.'}
          </p>
        </div>
        {error !== undefined && (
          <div className="mt-3">
            <ErrorNotice error={error} title={`${machine.name} was not restored.`}>
              {error instanceof ApiError && error.holder && <Holder holder={error.holder} />}
            </ErrorNotice>
          </div>
        )}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="danger" busy={isBusy}>
            {error === undefined ? 'Restore' : 'Try again'}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}

/** Who has to give up control first. */
function Holder({ holder: { openedBy, isOwn, expiresAt } }: { readonly holder: LeaseHolder }) {
  return (
    <p className="break-words">
      {isOwn ? 'You have' : <HolderName {...openedBy} />} control of the machine, unless renewed
      until <Time iso={expiresAt} />.{' '}
      {isOwn
        ? 'Hand it back where you took it, then try again.'
        : 'Ask them to hand it back, or take over on the Screen tab and hand it back yourself.'}
    </p>
  )
}

function HolderName({ name, type }: LeaseHolder['openedBy']) {
  return (
    <>
      <bdi className="font-medium">{name}</bdi> ({type === 'user' ? 'a person' : 'an API key'}) has
    </>
  )
}
