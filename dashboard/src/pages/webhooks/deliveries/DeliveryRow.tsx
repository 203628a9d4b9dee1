import type { Webhook, WebhookDelivery } from '@computer/sdk'
import { useState } from 'react'
import { useDenial } from '../../../api/session.ts'
import { sendAgain } from '../../../api/webhooks.ts'
import { formatMoment } from '../../../format.ts'
import { Badge } from '../../../ui/Badge.tsx'
import { Button } from '../../../ui/Button.tsx'
import { cx } from '../../../ui/cx.ts'
import { isolate } from '../../../ui/isolate.ts'
import { notifyError } from '../../../ui/notify.ts'
import { Cell, Row } from '../../../ui/Table.tsx'
import { Time, useNow } from '../../../ui/Time.tsx'
import { whyNotSend } from '../webhook-words.ts'
import { deliveryWords, isRefused } from './delivery-words.ts'

export function DeliveryRow({
  delivery,
  webhook,
}: {
  readonly delivery: WebhookDelivery
  readonly webhook: Webhook
}) {
  const { messageId, type, state, attempts, createdAt } = delivery
  const tone =
    state === 'delivered' ? 'good' : state === 'failed' ? 'bad' : isRefused(delivery) && 'warn'
  return (
    <Row>
      <Cell className="whitespace-nowrap text-muted">
        <time dateTime={createdAt}>{formatMoment(createdAt)}</time>
      </Cell>
      <Cell className="max-w-64">
        <bdi className="block truncate font-medium" title={type}>
          {type}
        </bdi>
        <code className="block truncate text-xs text-muted" title={messageId}>
          {messageId}
        </code>
      </Cell>
      <Cell>
        <Badge tone={tone || 'quiet'}>{deliveryWords[state]}</Badge>
      </Cell>
      <Cell className="text-muted tabular-nums">{attempts}</Cell>
      <Cell className="max-w-60">
        <LastAnswer delivery={delivery} />
      </Cell>
      <Cell className="text-muted">
        <NextAttempt delivery={delivery} webhook={webhook} />
      </Cell>
      <Cell className="text-right">
        <SendAgain delivery={delivery} webhook={webhook} />
      </Cell>
    </Row>
  )
}

/** The status of the answer, or why there was none. */
function LastAnswer({ delivery }: { readonly delivery: WebhookDelivery }) {
  const { lastStatus, lastError } = delivery
  const className = cx('block break-words', isRefused(delivery) ? 'text-bad' : 'text-muted')
  if (lastError !== null) return <bdi className={className}>{lastError}</bdi>
  return <span className={className}>{lastStatus ?? '–'}</span>
}

function NextAttempt({
  delivery: { state, nextAttemptAt },
  webhook,
}: {
  readonly delivery: WebhookDelivery
  readonly webhook: Webhook
}) {
  const now = useNow()
  if (state !== 'pending' || nextAttemptAt === null) return '–'
  if (!webhook.enabled) return 'Once it is enabled'
  return Date.parse(nextAttemptAt) > now ? <Time iso={nextAttemptAt} /> : 'Now'
}

function SendAgain({
  delivery,
  webhook,
}: {
  readonly delivery: WebhookDelivery
  readonly webhook: Webhook
}) {
  const denied = useDenial('api_keys:manage')
  const [isBusy, setBusy] = useState(false)
  const { type } = delivery
  const send = async () => {
    setBusy(true)
    try {
      await sendAgain(delivery)
    } catch (error) {
      notifyError(`${isolate(type)} could not be sent again`, error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Button
      size="small"
      aria-label={`Send again ${type}`}
      busy={isBusy}
      disabledReason={denied ?? whyNotSend(webhook)}
      onClick={() => void send()}
    >
      Send again
    </Button>
  )
}
