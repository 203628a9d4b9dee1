import type { MachineId, OrganizationId, WebhookDeliveryId, WebhookId } from '@computer/contract'
import type { Generated } from 'kysely'
import type { At } from './at.ts'

/** Addresses to which events and activity are sent, and what is sent to them. */
export type WebhookTables = {
  webhooks: {
    id: WebhookId
    organization_id: OrganizationId
    url: string
    types: string[] | null
    machine_id: MachineId | null
    disabled_reason: 'user' | 'gone' | 'failing' | null
    secret_sealed: Buffer
    former_sealed: Buffer | null
    former_until: Date | null
    event_position: number
    activity_position: number
    failing_since: Date | null
    created_at: At
  }
  webhook_deliveries: {
    id: WebhookDeliveryId
    webhook_id: WebhookId
    message_id: string
    type: string
    payload: string
    state: Generated<'pending' | 'delivered' | 'failed'>
    attempts: Generated<number>
    failures: Generated<number>
    next_attempt_at: Generated<Date | null>
    last_status: number | null
    last_error: string | null
    created_at: At
    delivered_at: Date | null
  }
}
