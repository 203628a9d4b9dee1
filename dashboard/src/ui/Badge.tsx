import type { MachineState } from '@computer/sdk'
import type { ReactNode } from 'react'
import { stateWords } from '../words.ts'
import { cx } from './cx.ts'

export type Tone = 'good' | 'warn' | 'bad' | 'accent' | 'quiet'

const tones: Readonly<Record<Tone, string>> = {
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  accent: 'bg-accent-soft text-accent-fg',
  quiet: 'bg-sunken text-muted',
}

export function Badge({
  tone = 'quiet',
  children,
}: {
  readonly tone?: Tone | undefined
  readonly children: ReactNode
}) {
  return (
    <span
      className={cx(
        'inline-flex h-5 items-center gap-1.5 rounded-full px-2 text-xs font-medium whitespace-nowrap',
        tones[tone],
      )}
    >
      {children}
    </span>
  )
}

const stateTones: Readonly<Record<MachineState, Tone>> = {
  creating: 'warn',
  running: 'good',
  stopping: 'warn',
  stopped: 'quiet',
  starting: 'warn',
  error: 'bad',
  deleting: 'warn',
}

export function StateBadge({ state }: { readonly state: MachineState }) {
  const isMoving = stateTones[state] === 'warn'
  return (
    <Badge tone={stateTones[state]}>
      <span
        aria-hidden
        className={cx('size-1.5 rounded-full bg-current', isMoving && 'animate-pulse')}
      />
      {stateWords[state]}
    </Badge>
  )
}
