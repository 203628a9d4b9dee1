import type { MachineRecord, Snapshot } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useDenial } from '../../../api/session.ts'
import { machineSnapshotsQuery } from '../../../api/snapshots.ts'
import { Button } from '../../../ui/Button.tsx'
import { Empty } from '../../../ui/Empty.tsx'
import { Camera } from '../../../ui/icons.ts'
import { QueryView } from '../../../ui/QueryView.tsx'
import { sdkExample } from '../sdk-example.ts'
import { notRunning, useMachine } from '../use-machine.ts'
import { SnapshotDialogs, type Asked } from './SnapshotDialogs.tsx'
import { SnapshotPoint } from './SnapshotPoint.tsx'
import { TakeSnapshot } from './TakeSnapshot.tsx'

/** The disks that a machine had, as a timeline from which each can be forked or restored. */
export function SnapshotsTab() {
  const { record } = useMachine()
  const query = useQuery(machineSnapshotsQuery(record.id))
  const [isTaking, setTaking] = useState(false)
  const take = <TakeButton machine={record} onPress={() => setTaking(true)} />
  return (
    <section aria-label="Snapshots" className="mx-auto w-full max-w-4xl px-4 py-5 sm:px-6">
      <QueryView query={query}>
        {(snapshots) =>
          snapshots.length === 0 ? (
            <NoSnapshots machine={record} action={take} />
          ) : (
            <Timeline machine={record} snapshots={snapshots} action={take} />
          )
        }
      </QueryView>
      {isTaking && <TakeSnapshot machine={record} onClose={() => setTaking(false)} />}
    </section>
  )
}

function TakeButton({
  machine,
  onPress,
}: {
  readonly machine: MachineRecord
  readonly onPress: () => void
}) {
  const denied = useDenial('snapshots:write')
  return (
    <Button
      look="primary"
      icon={<Camera aria-hidden />}
      disabledReason={denied ?? notRunning(machine)}
      onClick={onPress}
    >
      Take a snapshot
    </Button>
  )
}

function Timeline({
  machine,
  snapshots,
  action,
}: {
  readonly machine: MachineRecord
  readonly snapshots: readonly Snapshot[]
  readonly action: React.ReactNode
}) {
  const [asked, setAsked] = useState<Asked>()
  return (
    <>
      <div className="mb-4 flex flex-wrap items-center justify-between gap-2">
        <p className="min-w-0 flex-1 basis-60 text-muted">
          Each is the whole disk of {machine.name} at one moment. Fork it into a new machine, or
          return this machine to it.
        </p>
        {action}
      </div>
      <ol aria-label={`Snapshots of ${machine.name}, newest first`}>
        {snapshots.map((snapshot) => (
          <SnapshotPoint
            key={snapshot.id}
            machine={machine}
            snapshot={snapshot}
            all={snapshots}
            onAsk={(what) => setAsked({ what, snapshot })}
          />
        ))}
      </ol>
      <SnapshotDialogs machine={machine} asked={asked} onClose={() => setAsked(undefined)} />
    </>
  )
}

function NoSnapshots({
  machine,
  action,
}: {
  readonly machine: MachineRecord
  readonly action: React.ReactNode
}) {
  return (
    <Empty
      title="No snapshots yet"
      action={action}
      cli={`computer snapshots create ${machine.name} before-upgrade`}
      sdk={sdkExample(
        machine.name,
        `const snapshot = await machine.snapshots.create({ name: 'before-upgrade' })`,
        'const fork = await machine.fork({ snapshotId: snapshot.id })',
      )}
    >
      A snapshot keeps the disk as it is now. You can return to it, or fork new machines from it.
      Each stop takes one by itself.
    </Empty>
  )
}
