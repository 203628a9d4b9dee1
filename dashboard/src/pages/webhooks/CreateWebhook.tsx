import type { Webhook } from '@computer/sdk'
import { useState } from 'react'
import { createWebhook } from '../../api/webhooks.ts'
import { Dialog } from '../../ui/Dialog.tsx'
import { MachineSelect } from './MachineSelect.tsx'
import { NewSecret } from './NewSecret.tsx'
import { WebhookForm } from './WebhookForm.tsx'
import { hostOf } from './webhook-words.ts'

/** Makes a webhook, and shows its secret once. */
export function CreateWebhook({ onClose }: { readonly onClose: () => void }) {
  const [created, setCreated] = useState<Webhook>()
  const [machineId, setMachineId] = useState<string>()
  // One dialog for both, so that the focus returns to the button that opened it.
  return created ? (
    <Dialog
      open
      wide
      sticky
      onOpenChange={onClose}
      title={`The secret of the webhook to ${hostOf(created)}`}
      description="Copy it now: it is not shown again. Messages are signed with it."
    >
      <NewSecret secret={created.secret ?? ''} onClose={onClose} />
    </Dialog>
  ) : (
    <Dialog
      open
      wide
      onOpenChange={onClose}
      title="Create a webhook"
      description="What happens from now on is sent to its address, in signed messages."
    >
      <WebhookForm
        action="Create"
        onClose={onClose}
        onSubmit={async (fields) => setCreated(await createWebhook({ ...fields, machineId }))}
      >
        {(form) => (
          <MachineSelect
            value={machineId}
            onChange={setMachineId}
            error={form.errorOf('machine_id')}
          />
        )}
      </WebhookForm>
    </Dialog>
  )
}
