import type { Webhook } from '@computer/sdk'
import { updateWebhook } from '../../api/webhooks.ts'
import { Confirm } from '../../ui/Confirm.tsx'
import { hostOf } from './webhook-words.ts'

export function DisableWebhook({
  webhook,
  onClose,
}: {
  readonly webhook: Webhook
  readonly onClose: () => void
}) {
  return (
    <Confirm
      open
      onOpenChange={onClose}
      title={`Disable the webhook to ${hostOf(webhook)}`}
      action="Disable"
      look="primary"
      onConfirm={() => updateWebhook(webhook.id, { enabled: false })}
    >
      <p>
        What happens while it is disabled is not delivered later. Messages that wait for their next
        attempt go on when it is enabled again.
      </p>
    </Confirm>
  )
}
