import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { MachineId, OrganizationId, WebhookDeliveryId, WebhookId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { NoContent, text, Timestamp } from './text.ts'

const Url = z
  .url({ protocol: /^https?$/ })
  .max(2048)
  .describe('An https:// address. It must not lead into a private network.')

const Types = z
  .array(text(64, 1))
  .min(1)
  .max(64)
  .describe('Types of machine events and of activity. Default: all.')

const Secret = z
  .string()
  .describe('The signing secret (Standard Webhooks 1.0), which begins with whsec_. Returned once.')

export const Webhook = z
  .object({
    id: WebhookId,
    organization_id: OrganizationId,
    url: z.string(),
    types: z.array(z.string()).nullable(),
    machine_id: MachineId.nullable(),
    enabled: z.boolean(),
    disabled_reason: z
      .enum(['user', 'gone', 'failing'])
      .nullable()
      .describe('gone: the receiver answered 410. failing: nothing was delivered for five days.'),
    secret: Secret.nullable(),
    failing_since: Timestamp.nullable().describe(
      'The time of the first failure after the last success.',
    ),
    created_at: Timestamp,
  })
  .meta({ id: 'Webhook' })
export type Webhook = z.infer<typeof Webhook>

export const CreateWebhook = z.strictObject({
  url: Url,
  types: Types.optional(),
  machine_id: MachineId.optional().describe('Only of this machine.'),
})
export type CreateWebhook = z.infer<typeof CreateWebhook>

export const UpdateWebhook = z.strictObject({
  url: Url.optional(),
  types: Types.nullable().optional().describe('Null: all.'),
  enabled: z
    .boolean()
    .optional()
    .describe('What happens while it is disabled is not delivered later.'),
})
export type UpdateWebhook = z.infer<typeof UpdateWebhook>

export const WebhookDelivery = z
  .object({
    id: WebhookDeliveryId,
    webhook_id: WebhookId,
    message_id: z
      .string()
      .describe('The header webhook-id: the id of the event or of the activity.'),
    type: z.string(),
    state: z.enum(['pending', 'delivered', 'failed']),
    attempts: z.int().min(0),
    last_status: z.int().nullable().describe('The status of the last answer.'),
    last_error: z.string().nullable().describe('Why there was no answer, or none that counts.'),
    next_attempt_at: Timestamp.nullable(),
    created_at: Timestamp,
    delivered_at: Timestamp.nullable(),
  })
  .meta({ id: 'WebhookDelivery' })
export type WebhookDelivery = z.infer<typeof WebhookDelivery>

const path = '/v1/webhooks'
const params = z.object({ webhook_id: WebhookId })
const requires = 'api_keys:manage'

export const webhooks = {
  create: endpoint({
    method: 'POST',
    path,
    summary: 'Create a webhook: events and activity are sent to its address, signed, from now on.',
    requires,
    body: CreateWebhook,
    status: 201,
    response: Webhook,
    creates: true,
    audits: 'webhook.created',
  }),
  list: endpoint({
    method: 'GET',
    path,
    summary: 'List the webhooks of the organization, newest first.',
    requires,
    query: PageQuery,
    status: 200,
    response: pageOf(Webhook),
  }),
  get: endpoint({
    method: 'GET',
    path: `${path}/{webhook_id}`,
    summary: 'Get a webhook.',
    requires,
    params,
    status: 200,
    response: Webhook,
  }),
  update: endpoint({
    method: 'PATCH',
    path: `${path}/{webhook_id}`,
    summary: 'Change the address or the types of a webhook, disable it, or enable it again.',
    requires,
    params,
    body: UpdateWebhook,
    status: 200,
    response: Webhook,
    audits: 'webhook.updated',
  }),
  delete: endpoint({
    method: 'DELETE',
    path: `${path}/{webhook_id}`,
    summary: 'Delete a webhook and its deliveries.',
    requires,
    params,
    status: 204,
    response: NoContent,
    audits: 'webhook.deleted',
  }),
  rotate: endpoint({
    method: 'POST',
    path: `${path}/{webhook_id}/rotate`,
    summary: 'Make a new signing secret. For 24 hours messages are signed with both.',
    requires,
    params,
    status: 200,
    response: Webhook,
    audits: 'webhook.updated',
  }),
  test: endpoint({
    method: 'POST',
    path: `${path}/{webhook_id}/test`,
    summary: 'Send a message of the type webhook.test.',
    requires,
    params,
    status: 202,
    response: WebhookDelivery,
  }),
  deliveries: endpoint({
    method: 'GET',
    path: `${path}/{webhook_id}/deliveries`,
    summary: 'List the deliveries of the last 30 days, newest first.',
    requires,
    params,
    query: PageQuery.extend({ state: z.enum(['pending', 'delivered', 'failed']).optional() }),
    status: 200,
    response: pageOf(WebhookDelivery),
  }),
  retry: endpoint({
    method: 'POST',
    path: `${path}/{webhook_id}/deliveries/{delivery_id}/retry`,
    summary: 'Deliver a message again, now, with the same id.',
    requires,
    params: z.object({ webhook_id: WebhookId, delivery_id: WebhookDeliveryId }),
    status: 202,
    response: WebhookDelivery,
  }),
  replay: endpoint({
    method: 'POST',
    path: `${path}/{webhook_id}/replay`,
    summary: 'Deliver again, with the same ids, what failed or was delivered since a time.',
    requires,
    params,
    body: z.strictObject({
      since: Timestamp.describe('At most 30 days ago.'),
      state: z
        .enum(['delivered', 'failed'])
        .optional()
        .describe('Only messages of this state. Default: both.'),
    }),
    status: 202,
    response: z.object({ replayed: z.int().describe('The number of messages.') }),
  }),
}
