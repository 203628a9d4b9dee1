import type { MachineRecord, Snapshot } from '@computer/sdk'
import { formatBytes } from '../../../format.ts'
import { Button } from '../../../ui/Button.tsx'
import { cx } from '../../../ui/cx.ts'
import { GitFork, RotateCcw } from '../../../ui/icons.ts'
import { Time } from '../../../ui/Time.tsx'
import { originWords } from '../../../words.ts'
import type { Asked } from './SnapshotDialogs.tsx'
import { SnapshotButtons } from './SnapshotButtons.tsx'
import { SnapshotStateBadge } from './SnapshotStateBadge.tsx'
import { blockerOf, useForkDenial, useRestoreDenial } from './steps.ts'

/** One point of the timeline. */
export function SnapshotPoint({
  machine,
  snapshot,
  all,
  onAsk,
}: {
  readonly machine: MachineRecord
  readonly snapshot: Snapshot
  /** All snapshots of the machine, newest first. */
  readonly all: readonly Snapshot[]
  readonly onAsk: (what: Asked['what']) => void
}) {
  const { name, state, origin, sizeBytes, createdAt, error } = snapshot
  const forkDenial = useForkDenial(snapshot)
  const restoreDenial = useRestoreDenial(snapshot, machine)
  return (
    <li className="group relative flex gap-3 pb-3">
      <Rail isReady={state === 'ready'} />
      <div className="flex min-w-0 flex-1 flex-wrap items-start gap-x-4 gap-y-2 rounded-lg border border-line bg-raised p-3">
        <div className="min-w-0 flex-1 basis-56">
          <h2 className="flex flex-wrap items-center gap-x-2 gap-y-1 font-medium">
            <bdi className="min-w-0 break-words">{name}</bdi>
            <SnapshotStateBadge state={state} />
          </h2>
          <p className="text-[13px] text-muted">
            {originWords[origin]} · {sizeBytes !== null && <>{formatBytes(sizeBytes)} · </>}
            <Time iso={createdAt} />
          </p>
          {error && <p className="mt-1 text-[13px] break-words text-bad">{error}</p>}
        </div>
        <div className="flex flex-wrap items-center gap-1.5">
          <Button
            size="small"
            icon={<GitFork aria-hidden />}
            disabledReason={forkDenial}
            onClick={() => onAsk('fork')}
          >
            Fork from here
          </Button>
          <Button
            size="small"
            icon={<RotateCcw aria-hidden />}
            disabledReason={restoreDenial}
            onClick={() => onAsk('restore')}
          >
            Restore
          </Button>
          <SnapshotButtons snapshot={snapshot} blocker={blockerOf(snapshot, all)} onAsk={onAsk} />
        </div>
      </div>
    </li>
  )
}

/** The line of the timeline and the dot of its point. */
function Rail({ isReady }: { readonly isReady: boolean }) {
  return (
    <div aria-hidden className="relative w-3 shrink-0">
      <div className="absolute top-0 -bottom-3 left-[5.5px] w-px bg-line-strong group-first:top-5 group-last:bottom-auto group-last:h-5 group-only:hidden" />
      <div
        className={cx(
          'absolute top-4 left-0.5 size-2 rounded-full ring-4 ring-page',
          isReady ? 'bg-accent-fg' : 'bg-line-strong',
        )}
      />
    </div>
  )
}
