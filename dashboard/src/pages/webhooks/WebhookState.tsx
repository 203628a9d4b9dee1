import type { Webhook } from '@computer/sdk'
import { Badge } from '../../ui/Badge.tsx'
import { Age } from '../../ui/Time.tsx'
import { disabledWords } from './webhook-words.ts'

/** Whether it sends, and if its receiver takes nothing, since when. */
export function WebhookState({
  webhook: { enabled, disabledReason, failingSince },
}: {
  readonly webhook: Webhook
}) {
  return (
    <>
      {!enabled ? (
        <Badge tone={disabledReason === 'user' ? 'quiet' : 'bad'}>Disabled</Badge>
      ) : (
        <Badge tone={failingSince === null ? 'good' : 'warn'}>
          {failingSince === null ? 'Active' : 'Failing'}
        </Badge>
      )}
      {disabledReason !== null && (
        <span className="block text-xs text-muted">{disabledWords[disabledReason]}</span>
      )}
      {enabled && failingSince !== null && (
        <span className="block text-xs text-muted">
          Nothing accepted for <Age since={failingSince} />
        </span>
      )}
    </>
  )
}
