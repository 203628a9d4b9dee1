import type { WebhookDelivery, WebhookId } from '@computer/contract'
import assert from 'node:assert/strict'
import { eventually } from '../../e2e/harness/polling.ts'
import { startTestServer, type Lifetime } from './harness.ts'

type Options = NonNullable<Parameters<typeof startTestServer>[1]>

/** A server whose webhooks may reach loopback, and an owner, because API keys manage no webhooks. */
export async function startWebhookServer(lifetime: Lifetime, options: Options = {}) {
  const env = { COMPUTER_WEBHOOK_NETWORKS: '127.0.0.1', ...options.env }
  const server = await startTestServer(lifetime, { ...options, env })
  const call = server.as(await server.user('owner'))

  async function newestDelivery(id: WebhookId): Promise<WebhookDelivery> {
    const { body } = await call('GET', `/v1/webhooks/${id}/deliveries?limit=1`)
    return body.data[0]
  }
  return {
    server,
    call,
    /** A webhook until the test ends. By default it gets test messages alone. */
    async subscribe(t: Lifetime, url: string, more: object = { types: ['webhook.test'] }) {
      const { status, body } = await call('POST', '/v1/webhooks', { url, ...more })
      assert.equal(status, 201, JSON.stringify(body))
      t.after(async () => void (await call('DELETE', `/v1/webhooks/${body.id}`)))
      return body as { readonly id: WebhookId; readonly secret: string }
    },
    async sendTest(id: WebhookId): Promise<WebhookDelivery> {
      const { status, body } = await call('POST', `/v1/webhooks/${id}/test`)
      assert.equal(status, 202, JSON.stringify(body))
      return body
    },
    newestDelivery,
    /** The newest delivery, once an attempt has an outcome. */
    async outcome(id: WebhookId): Promise<WebhookDelivery> {
      return eventually('an attempt has an outcome', async () => {
        const delivery = await newestDelivery(id)
        return (delivery.last_status !== null || delivery.last_error !== null) && delivery
      })
    },
  }
}
