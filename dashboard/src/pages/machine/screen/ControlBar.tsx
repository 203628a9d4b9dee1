import type { Ref } from 'react'
import { Button } from '../../../ui/Button.tsx'
import { cx } from '../../../ui/cx.ts'
import { Hand } from '../../../ui/icons.ts'
import type { Holder } from './holder.ts'
import type { ScreenState } from './live-screen.ts'
import { useSeconds } from './use-seconds.ts'

/** Who drives the machine, and the button that changes it. */
export function ControlBar({
  holder,
  state: { busy, isLost, source, helpId },
  isOffered,
  denied,
  onToggle,
  ref,
}: {
  readonly holder: Holder
  readonly state: Pick<ScreenState, 'busy' | 'isLost' | 'source' | 'helpId'>
  /** A help request above offers the machine. */
  readonly isOffered: boolean
  readonly denied: string | undefined
  readonly onToggle: () => void
  readonly ref: Ref<HTMLButtonElement>
}) {
  const drives = holder.is === 'you'
  return (
    <div className="flex min-w-0 flex-1 basis-72 flex-wrap items-center gap-x-3 gap-y-1">
      {/* A help request is handed back in its own bar. */}
      {helpId === null && (
        <Button
          ref={ref}
          look={drives || isOffered ? 'secondary' : 'primary'}
          icon={<Hand aria-hidden />}
          busy={busy !== null}
          disabledReason={denied ?? (holder.is === 'unknown' && 'The screen is still connecting.')}
          onClick={onToggle}
        >
          {drives ? 'Hand back' : 'Take over'}
        </Button>
      )}
      <p className="min-w-0 flex-1 text-sm break-words">
        <span
          aria-hidden
          className={cx('mr-2 inline-block size-2 rounded-full', dots[holder.is])}
        />
        {/* The seconds are left out of what is spoken. */}
        <span role="status">
          <Words holder={holder} isLost={isLost} isReady={source === 'drive'} />
        </span>
        {holder.is === 'another' && holder.expiresAt && <Left until={holder.expiresAt} />}
      </p>
    </div>
  )
}

const dots: Readonly<Record<Holder['is'], string>> = {
  you: 'bg-accent-fg',
  another: 'bg-warn',
  nobody: 'bg-line-strong',
  unknown: 'bg-line',
}

function Words({
  holder,
  isLost,
  isReady,
}: {
  readonly holder: Holder
  readonly isLost: boolean
  /** Keys reach the machine. */
  readonly isReady: boolean
}) {
  if (holder.is === 'unknown') return 'Connecting to the screen'
  if (holder.is === 'you')
    return <span className="font-medium">{isReady ? 'You drive' : 'Connecting your keyboard'}</span>
  if (holder.is === 'nobody')
    return isLost ? 'Your control has ended. Nobody drives.' : 'Nobody drives'
  const name = <bdi className="font-medium">{holder.name}</bdi>
  return isLost ? <>{name} took over</> : <>{name} holds it</>
}

function Left({ until }: { readonly until: string }) {
  const now = useSeconds()
  const seconds = Math.max(0, Math.ceil((Date.parse(until) - now) / 1000))
  return <span className="text-muted tabular-nums">, {seconds} s left</span>
}
