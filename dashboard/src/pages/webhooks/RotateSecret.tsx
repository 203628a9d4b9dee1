import type { Webhook } from '@computer/sdk'
import { useState } from 'react'
import { rotateSecret } from '../../api/webhooks.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog, DialogButtons } from '../../ui/Dialog.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { useForm } from '../../ui/use-form.ts'
import { NewSecret } from './NewSecret.tsx'
import { hostOf } from './webhook-words.ts'

/** Asks, makes a new secret, and shows it once. */
export function RotateSecret({
  webhook,
  onClose,
}: {
  readonly webhook: Webhook
  readonly onClose: () => void
}) {
  const [secret, setSecret] = useState<string>()
  const form = useForm([], async () => setSecret((await rotateSecret(webhook.id)).secret ?? ''))
  // One dialog for both, so that the focus returns to the button that opened it.
  return secret !== undefined ? (
    <Dialog
      open
      wide
      sticky
      onOpenChange={onClose}
      title={`The new secret of the webhook to ${hostOf(webhook)}`}
      description="Copy it now: it is not shown again. The one before it signs too for 24 hours."
    >
      <NewSecret secret={secret} onClose={onClose} />
    </Dialog>
  ) : (
    <Dialog
      open
      onOpenChange={onClose}
      title={`Rotate the secret of the webhook to ${hostOf(webhook)}`}
    >
      <form onSubmit={form.submit}>
        <p className="text-muted">
          A new secret is made. For 24 hours messages are signed with both, so that you can exchange
          yours without losing one. A secret that was rotated out before signs no more.
        </p>
        {form.error !== undefined && (
          <div className="mt-3">
            <ErrorNotice error={form.error} />
          </div>
        )}
        <DialogButtons>
          <Button autoFocus onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" look="primary" busy={form.isBusy}>
            Rotate
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}
