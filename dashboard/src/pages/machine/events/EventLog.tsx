import type { MachineEvent, MachineEventType } from '@computer/sdk'
import { useState } from 'react'
import { loadOlderEvents, type EventLog as Log } from '../../../api/events.ts'
import { formatMoment } from '../../../format.ts'
import { Button } from '../../../ui/Button.tsx'
import { cx } from '../../../ui/cx.ts'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { eventWords, stateWords } from '../../../words.ts'

/** The events, newest first, as far back as they are loaded. */
export function EventLog({
  machineId,
  type,
  log,
}: {
  readonly machineId: string
  readonly type: MachineEventType | undefined
  readonly log: Log
}) {
  const [isLoading, setLoading] = useState(false)
  const [error, setError] = useState<unknown>()
  const loadOlder = async () => {
    setLoading(true)
    try {
      await loadOlderEvents(machineId, type)
      setError(undefined)
    } catch (caught) {
      setError(caught)
    } finally {
      setLoading(false)
    }
  }
  return (
    <>
      <ol
        aria-label="Events, newest first"
        className="divide-y divide-line rounded-lg border border-line bg-raised"
      >
        {log.events.map((event) => (
          <Entry key={event.sequence} event={event} openers={log.openers} />
        ))}
      </ol>
      {error !== undefined && (
        <div className="mt-3">
          <ErrorNotice error={error} title="Older events could not be loaded." />
        </div>
      )}
      <div className="mt-3 text-center">
        {log.olderCursor === null ? (
          <p className="text-xs text-muted">This is the beginning of the log.</p>
        ) : (
          <Button busy={isLoading} onClick={() => void loadOlder()}>
            Load older
          </Button>
        )}
      </div>
    </>
  )
}

function Entry({
  event,
  openers,
}: {
  readonly event: MachineEvent
  readonly openers: Log['openers']
}) {
  const { type, sessionId, fromState, toState, message, occurredAt } = event
  const opener = sessionId === null ? undefined : openers[sessionId]
  return (
    <li className="flex flex-wrap gap-x-4 gap-y-0.5 px-3 py-2 [contain-intrinsic-size:auto_3.5rem] [content-visibility:auto]">
      <div className="min-w-0 flex-1 basis-64">
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
      </div>
      <div className="text-[13px] text-muted sm:text-right">
        <time dateTime={occurredAt} className="tabular-nums">
          {formatMoment(occurredAt)}
        </time>
        {sessionId !== null && (
          <p className="break-words" title={sessionId}>
            {opener ? <Who {...opener} /> : <code className="text-xs">{sessionId}</code>}
          </p>
        )}
      </div>
    </li>
  )
}

const sessionWords = { agent: 'as an agent', human: 'as a person', view: 'only looking' } as const

function Who({ openedBy, type }: Log['openers'][string]) {
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
