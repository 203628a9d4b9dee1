import type { Call } from './call.ts'

/** A valid call of every endpoint of webhooks. */
export function webhookRequests(call: Call) {
  const newWebhook = { url: 'https://receiver.example/computer' }
  const add = async () => {
    const { body } = await call('POST', '/v1/webhooks', newWebhook)
    return { webhook_id: body.id as string }
  }
  const one = async () => ({ ids: await add() })
  return {
    create: async () => ({ body: newWebhook }),
    list: async () => ({}),
    get: one,
    update: async () => ({ ids: await add(), body: { types: ['machine.started'] } }),
    delete: one,
    rotate: one,
    test: one,
    deliveries: one,
    retry: async () => {
      const ids = await add()
      const { body } = await call('POST', `/v1/webhooks/${ids.webhook_id}/test`)
      return { ids: { ...ids, delivery_id: body.id as string } }
    },
    replay: async () => ({ ids: await add(), body: { since: new Date(0).toISOString() } }),
  }
}
