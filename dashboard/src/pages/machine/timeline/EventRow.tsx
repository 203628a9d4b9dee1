import type { MachineEvent, MachineEventType } from '@computer/sdk'
import type { EventLog } from '../../../api/events.ts'
import { cx } from '../../../ui/cx.ts'
import { eventWords, stateWords } from '../../../words.ts'
import { TimelineRow } from './TimelineRow.tsx'

export function EventRow({
  event,
  openers,
}: {
  readonly event: MachineEvent
  readonly openers: EventLog['openers']
}) {
  const { type, sessionId, fromState, toState, message, occurredAt } = event
  const opener = sessionId === null ? undefined : openers[sessionId]
  return (
    <TimelineRow
      at={occurredAt}
      beside={
        sessionId !== null && (
          <p className="break-words" title={sessionId}>
            {opener ? <Who {...opener} /> : <code className="text-xs">{sessionId}</code>}
          </p>
        )
      }
    >
      <p className="flex flex-wrap items-baseline gap-x-2">
        <span className={cx('font-medium', isFailure(type) && 'text-bad')}>
          {eventWords[type] ?? type}
        </span>
        <code className="text-xs text-muted">{type}</code>
        {toState !== null && (
          <span className="text-[13px] text-muted">
            {fromState !== null && `${stateWords[fromState]} → `}
            {stateWords[toState]}
          </span>
        )}
      </p>
      {message !== null && <p className="text-[13px] break-words text-muted">{message}</p>}
    </TimelineRow>
  )
}

const sessionWords = { agent: 'as an agent', human: 'as a person', view: 'only looking' } as const

function Who({ openedBy, type }: EventLog['openers'][string]) {
  return (
    <>
      <bdi className="text-fg">{openedBy.name}</bdi>
      {openedBy.type === 'api_key' && ' (API key)'}, {sessionWords[type]}
    </>
  )
}

function isFailure(type: MachineEventType): boolean {
  return type.endsWith('failed') || type === 'host.unhealthy'
}
