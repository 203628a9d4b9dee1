import type { Webhook } from '@computer/sdk'
import { deleteWebhook } from '../../api/webhooks.ts'
import { Confirm } from '../../ui/Confirm.tsx'
import { notify } from '../../ui/notify.ts'
import { hostOf } from './webhook-words.ts'

export function DeleteWebhook({
  webhook,
  onClose,
  onDeleted,
}: {
  readonly webhook: Webhook
  readonly onClose: () => void
  readonly onDeleted?: (() => void) | undefined
}) {
  return (
    <Confirm
      open
      onOpenChange={onClose}
      title={`Delete the webhook to ${hostOf(webhook)}`}
      action="Delete"
      onConfirm={async () => {
        await deleteWebhook(webhook.id)
        notify(`The webhook to ${hostOf(webhook)} is deleted`)
        onDeleted?.()
      }}
    >
      <p>
        Nothing is sent to <bdi className="break-all">{webhook.url}</bdi> any more, neither what
        waits for its next attempt. The list of its deliveries is deleted with it.
      </p>
    </Confirm>
  )
}
