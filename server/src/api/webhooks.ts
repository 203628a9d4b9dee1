import type { webhooks } from '@computer/contract'
import type { App } from '../app.ts'
import type { WebhookRow } from '../db/database.ts'
import {
  listDeliveries,
  replayDeliveries,
  retryDelivery,
  sendTest,
} from '../domain/webhooks/deliveries.ts'
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  rotateWebhook,
  updateWebhook,
} from '../domain/webhooks/webhooks.ts'
import type { Routes } from './route.ts'
import { pageToWire, rowToWire } from './to-wire.ts'

export function webhookRoutes(
  app: Pick<App, 'db' | 'changes' | 'config'>,
): Routes<typeof webhooks> {
  return {
    create: async (actor, { body, newId }) =>
      withSecret(await createWebhook(app, actor, newId('whk'), body)),
    list: async (actor, { query }) => pageToWire(await listWebhooks(app.db, actor, query), toWire),
    get: async (actor, { params }) => toWire(await getWebhook(app.db, actor, params.webhook_id)),
    update: async (actor, { params, body }) =>
      toWire(await updateWebhook(app, actor, params.webhook_id, body)),
    delete: async (actor, { params }) => {
      await deleteWebhook(app, actor, params.webhook_id)
    },
    rotate: async (actor, { params }) =>
      withSecret(await rotateWebhook(app, actor, params.webhook_id)),
    test: async (actor, { params }) => rowToWire(await sendTest(app, actor, params.webhook_id)),
    deliveries: async (actor, { params, query }) =>
      pageToWire(await listDeliveries(app.db, actor, params.webhook_id, query), rowToWire),
    retry: async (actor, { params }) =>
      rowToWire(await retryDelivery(app, actor, params.webhook_id, params.delivery_id)),
    replay: async (actor, { params, body }) => ({
      replayed: await replayDeliveries(app, actor, params.webhook_id, body),
    }),
  }
}

function toWire(row: WebhookRow) {
  return { ...rowToWire(row), enabled: row.disabled_reason === null, secret: null }
}

function withSecret({ webhook, secret }: { webhook: WebhookRow; secret: string }) {
  return { ...toWire(webhook), secret }
}
