import type { WebhookDelivery } from '@computer/sdk'
import type { DeliveryState } from '../../../api/webhooks.ts'

export const deliveryStates: readonly DeliveryState[] = ['pending', 'delivered', 'failed']

export const deliveryWords: Readonly<Record<DeliveryState, string>> = {
  pending: 'Pending',
  delivered: 'Delivered',
  failed: 'Failed',
}

/** The last attempt was not accepted. */
export function isRefused({ lastStatus, lastError }: WebhookDelivery): boolean {
  return lastError !== null || (lastStatus !== null && (lastStatus < 200 || lastStatus > 299))
}
