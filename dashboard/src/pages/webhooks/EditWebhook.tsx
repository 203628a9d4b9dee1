import type { Webhook } from '@computer/sdk'
import { updateWebhook } from '../../api/webhooks.ts'
import { Dialog } from '../../ui/Dialog.tsx'
import { WebhookForm } from './WebhookForm.tsx'
import { hostOf } from './webhook-words.ts'

export function EditWebhook({
  webhook,
  onClose,
}: {
  readonly webhook: Webhook
  readonly onClose: () => void
}) {
  return (
    <Dialog
      open
      wide
      onOpenChange={onClose}
      title={`Edit the webhook to ${hostOf(webhook)}`}
      description="Messages that wait for their next attempt go to a new address too."
    >
      <WebhookForm
        url={webhook.url}
        types={webhook.types}
        action="Save"
        onClose={onClose}
        onSubmit={async ({ url, types }) => {
          // An address that stays is not judged again.
          await updateWebhook(webhook.id, { types, ...(url !== webhook.url && { url }) })
          onClose()
        }}
      />
    </Dialog>
  )
}
