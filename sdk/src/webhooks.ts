import type { CallOptions } from './options.ts'
import type { List } from './pages.ts'
import type { Body, Query, Transport } from './transport.ts'
import type { Webhook, WebhookDelivery } from './wire/records.ts'

const one = '/v1/webhooks/{webhook_id}'

/** Addresses to which events and activity are sent. Only people manage them, and API keys never do. */
export class Webhooks {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Newest first. */
  list({ signal, ...query }: Query<'GET /v1/webhooks'> & CallOptions = {}): List<Webhook> {
    return this.#transport.list('GET /v1/webhooks', { query }, { signal })
  }

  /** The result has the signing secret, this once. */
  async create(body: Body<'POST /v1/webhooks'>, options: CallOptions = {}): Promise<Webhook> {
    return this.#transport.call('POST /v1/webhooks', { body, creates: true }, options)
  }

  async get(webhookId: string, options: CallOptions = {}): Promise<Webhook> {
    return this.#transport.call(`GET ${one}`, { params: { webhookId } }, options)
  }

  async update(
    webhookId: string,
    body: Body<`PATCH ${typeof one}`>,
    options: CallOptions = {},
  ): Promise<Webhook> {
    return this.#transport.call(`PATCH ${one}`, { params: { webhookId }, body }, options)
  }

  async delete(webhookId: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.call(`DELETE ${one}`, { params: { webhookId } }, options)
  }

  /** The result has the new secret, this once. The one before signs too for 24 hours. */
  async rotate(webhookId: string, options: CallOptions = {}): Promise<Webhook> {
    return this.#transport.call(`POST ${one}/rotate`, { params: { webhookId } }, options)
  }

  /** Sends a message of the type `webhook.test`. */
  async test(webhookId: string, options: CallOptions = {}): Promise<WebhookDelivery> {
    return this.#transport.call(`POST ${one}/test`, { params: { webhookId } }, options)
  }

  /** Of the last 30 days, newest first. */
  deliveries(
    webhookId: string,
    { signal, ...query }: Query<`GET ${typeof one}/deliveries`> & CallOptions = {},
  ): List<WebhookDelivery> {
    const input = { params: { webhookId }, query }
    return this.#transport.list(`GET ${one}/deliveries`, input, { signal })
  }

  /** Sends a message again, now, with the same id. */
  async retry(
    webhookId: string,
    deliveryId: string,
    options: CallOptions = {},
  ): Promise<WebhookDelivery> {
    const params = { webhookId, deliveryId }
    return this.#transport.call(`POST ${one}/deliveries/{delivery_id}/retry`, { params }, options)
  }

  /** Sends all messages since a time again, with the same ids. Resolves to their number. */
  async replay(
    webhookId: string,
    body: Body<`POST ${typeof one}/replay`>,
    options: CallOptions = {},
  ): Promise<number> {
    const input = { params: { webhookId }, body }
    return (await this.#transport.call(`POST ${one}/replay`, input, options)).replayed
  }
}
