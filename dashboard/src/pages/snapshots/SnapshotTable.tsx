import type { Snapshot } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { machineQuery } from '../../api/machines.ts'
import { formatBytes } from '../../format.ts'
import { Button } from '../../ui/Button.tsx'
import { GitFork } from '../../ui/icons.ts'
import { Cell, Row, Table } from '../../ui/Table.tsx'
import { Time } from '../../ui/Time.tsx'
import { originWords } from '../../words.ts'
import { isGone, MachineLink } from '../machine/MachineLink.tsx'
import { SnapshotButtons } from '../machine/snapshots/SnapshotButtons.tsx'
import { SnapshotDialogs, type Asked } from '../machine/snapshots/SnapshotDialogs.tsx'
import { SnapshotStateBadge } from '../machine/snapshots/SnapshotStateBadge.tsx'
import { blockerOf, useForkDenial, whyNotReady } from '../machine/snapshots/steps.ts'

export function SnapshotTable({
  snapshots,
  hasAll,
}: {
  readonly snapshots: readonly Snapshot[]
  /** None is missing between the newest and the last of them. */
  readonly hasAll: boolean
}) {
  const [asked, setAsked] = useState<Asked>()
  return (
    <>
      <Table label="Snapshots" head={['Name', 'Machine', 'Origin', 'Size', 'Taken', '']}>
        {snapshots.map((snapshot) => (
          <SnapshotRow
            key={snapshot.id}
            snapshot={snapshot}
            // Otherwise the server names the one in the way.
            blocker={
              hasAll
                ? blockerOf(
                    snapshot,
                    snapshots.filter(({ machineId }) => machineId === snapshot.machineId),
                  )
                : whyNotDeletable(snapshot)
            }
            onAsk={(what) => setAsked({ what, snapshot })}
          />
        ))}
      </Table>
      {asked && <Dialogs asked={asked} onClose={() => setAsked(undefined)} />}
    </>
  )
}

function SnapshotRow({
  snapshot,
  blocker,
  onAsk,
}: {
  readonly snapshot: Snapshot
  readonly blocker: string | undefined
  readonly onAsk: (what: Asked['what']) => void
}) {
  const { name, machineId, origin, sizeBytes, state, createdAt, error } = snapshot
  const machine = useQuery(machineQuery(machineId))
  const forkDenial = useForkDenial(snapshot, isGone(machine.error))
  return (
    <Row>
      <Cell className="max-w-64 min-w-40">
        <span className="flex flex-wrap items-center gap-x-2">
          <bdi className="min-w-0 break-words">{name}</bdi>
          <SnapshotStateBadge state={state} />
        </span>
        {error && <span className="block text-[13px] break-words text-bad">{error}</span>}
      </Cell>
      <Cell className="whitespace-nowrap">
        <MachineLink machineId={machineId} tab="/m/$machineId/snapshots" />
      </Cell>
      <Cell className="whitespace-nowrap text-muted">{originWords[origin]}</Cell>
      <Cell className="whitespace-nowrap text-muted">
        {sizeBytes === null ? '–' : formatBytes(sizeBytes)}
      </Cell>
      <Cell className="text-muted">
        <Time iso={createdAt} />
      </Cell>
      <Cell className="text-right whitespace-nowrap">
        <Button
          size="small"
          icon={<GitFork aria-hidden />}
          disabledReason={
            forkDenial ?? (machine.data === undefined && 'Its machine is being read.')
          }
          onClick={() => onAsk('fork')}
        >
          Fork
        </Button>
        <SnapshotButtons snapshot={snapshot} blocker={blocker} onAsk={onAsk} />
      </Cell>
    </Row>
  )
}

function Dialogs({ asked, onClose }: { readonly asked: Asked; readonly onClose: () => void }) {
  const { data: machine } = useQuery(machineQuery(asked.snapshot.machineId))
  return <SnapshotDialogs machine={machine} asked={asked} onClose={onClose} />
}

function whyNotDeletable(snapshot: Snapshot): string | undefined {
  return snapshot.state === 'error' ? undefined : whyNotReady(snapshot)
}
