import type { Webhook } from '@computer/sdk'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useDenial } from '../../../api/session.ts'
import { Button } from '../../../ui/Button.tsx'
import { History } from '../../../ui/icons.ts'
import { MachineLink } from '../../machine/MachineLink.tsx'
import { SendTest } from '../SendTest.tsx'
import { WebhookMenu } from '../WebhookMenu.tsx'
import { WebhookState } from '../WebhookState.tsx'
import { whyNotSend } from '../webhook-words.ts'
import { ReplayDeliveries } from './ReplayDeliveries.tsx'

/** The webhook that the deliveries are of, and what can be done with it. */
export function DeliveriesHeader({ webhook }: { readonly webhook: Webhook }) {
  const { url, types, machineId } = webhook
  const navigate = useNavigate()
  const denied = useDenial('api_keys:manage')
  const [isReplaying, setReplaying] = useState(false)
  return (
    <section
      aria-label="Webhook"
      className="mb-4 flex flex-wrap items-start gap-x-4 gap-y-3 rounded-lg border border-line bg-raised p-3"
    >
      <div className="min-w-0 flex-1 basis-72 space-y-1">
        <p className="font-medium">
          <bdi className="break-all">{url}</bdi>
        </p>
        <p className="text-[13px] text-muted">
          {types === null ? 'Everything' : <bdi className="break-words">{types.join(', ')}</bdi>} of{' '}
          {machineId === null ? 'all machines' : <MachineLink machineId={machineId} />}
        </p>
        <WebhookState webhook={webhook} />
      </div>
      <div className="flex flex-wrap items-center gap-2">
        <SendTest webhook={webhook} />
        <Button
          icon={<History aria-hidden />}
          disabledReason={denied ?? whyNotSend(webhook)}
          onClick={() => setReplaying(true)}
        >
          Replay since…
        </Button>
        <WebhookMenu
          webhook={webhook}
          size="medium"
          onDeleted={() => void navigate({ to: '/webhooks' })}
        />
      </div>
      {isReplaying && <ReplayDeliveries webhook={webhook} onClose={() => setReplaying(false)} />}
    </section>
  )
}
