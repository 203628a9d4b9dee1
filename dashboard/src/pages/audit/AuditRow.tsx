import type { AuditEvent } from '@computer/sdk'
import { formatDateTime } from '../../format.ts'
import { Badge } from '../../ui/Badge.tsx'
import { Cell, Row } from '../../ui/Table.tsx'
import { actorWords, auditWords, outcomeWords, targetWord } from './audit-words.ts'

const tones = { succeeded: 'quiet', denied: 'warn', failed: 'bad' } as const

export function AuditRow({ event }: { readonly event: AuditEvent }) {
  const { type, actor, target, address, outcome, message, occurredAt } = event
  return (
    <Row>
      <Cell className="whitespace-nowrap text-muted">
        <time dateTime={occurredAt}>{formatDateTime(occurredAt)}</time>
      </Cell>
      <Cell className="min-w-44">
        <span className="block font-medium">{auditWords[type] ?? type}</span>
        {message && <bdi className="block text-xs break-words text-muted">{message}</bdi>}
      </Cell>
      <Cell className="max-w-52">
        {actor ? (
          <Named name={actor.name} what={actorWords[actor.type] ?? actor.type} id={actor.id} />
        ) : (
          <span className="text-muted">Nobody signed in</span>
        )}
      </Cell>
      <Cell className="max-w-60">
        {target && <Named name={target.name} what={targetWord(target.type)} id={target.id} />}
      </Cell>
      <Cell className="text-xs whitespace-nowrap text-muted">
        <code>{address}</code>
      </Cell>
      <Cell>
        <Badge tone={tones[outcome]}>{outcomeWords[outcome]}</Badge>
      </Cell>
    </Row>
  )
}

function Named({
  name,
  what,
  id,
}: {
  readonly name: string
  readonly what: string
  readonly id: string
}) {
  return (
    <>
      <bdi className="block truncate" title={`${name} (${id})`}>
        {name}
      </bdi>
      <span className="block text-xs text-muted">{what}</span>
    </>
  )
}
