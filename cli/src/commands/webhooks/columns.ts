import type { Webhook, WebhookDelivery } from '@computer/sdk'
import type { Columns } from '../../output.ts'
import { formatAge } from '../../text.ts'

export const webhookColumns: Columns<Webhook> = {
  id: ({ id }) => id,
  url: ({ url }) => url,
  types: ({ types }) => types?.join(', ') ?? 'all',
  state: ({ enabled, disabledReason }) => (enabled ? 'enabled' : `disabled: ${disabledReason}`),
  created: ({ createdAt }) => formatAge(createdAt),
}

export const webhookLines: Columns<Webhook> = {
  ...webhookColumns,
  machine: ({ machineId }) => machineId,
  'failing since': ({ failingSince }) => failingSince,
}

export const deliveryColumns: Columns<WebhookDelivery> = {
  id: ({ id }) => id,
  type: ({ type }) => type,
  message: ({ messageId }) => messageId,
  state: ({ state }) => state,
  attempts: ({ attempts }) => attempts,
  answer: ({ lastStatus, lastError }) => lastStatus ?? lastError,
  next: ({ nextAttemptAt }) => nextAttemptAt,
  created: ({ createdAt }) => formatAge(createdAt),
}
