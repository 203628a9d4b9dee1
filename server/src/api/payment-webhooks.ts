import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Readable } from 'node:stream'
import type { App } from '../app.ts'
import { storeEvent } from '../domain/billing/provider-events.ts'
import { ApiError } from '../errors.ts'
import { readBytes } from '../http/bodies.ts'
import { ForgedEvent } from '../payments/provider.ts'

/** The path that operators enter in Stripe (docs/plans-and-billing.md). */
const path = '/v1/billing/webhooks/stripe'
/** Far more than the provider's notifications have. */
const bodyLimit = 256 * 1024

/**
 * Takes notifications of the payment provider. Anybody may send one, so only what the provider signed is
 * stored. The signature is over the bytes as they came, so a scope of its own does not parse them. The
 * answer says that the notification is stored; the worker does the rest.
 */
export function addPaymentWebhooks(
  http: FastifyInstance,
  app: Pick<App, 'db' | 'payments' | 'timing'>,
): void {
  if (!app.payments.collectsPayments) return
  void http.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', async (_request: FastifyRequest, payload: Readable) =>
      readBytes(payload, {
        maxBytes: bodyLimit,
        timeoutMs: app.timing.bodyMs,
        take: () => true,
      }),
    )
    scope.post(path, { bodyLimit }, async (request, reply) => {
      const event = await verify(app, request)
      if (event) await storeEvent(app.db, event)
      return reply.send({ received: true })
    })
  })
}

async function verify({ payments }: Pick<App, 'payments'>, { body, headers }: FastifyRequest) {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
  try {
    return await payments.verify(bytes, headers)
  } catch (error) {
    if (!(error instanceof ForgedEvent)) throw error
    throw new ApiError(
      'invalid_request',
      `${error.message}; use the signing secret of this endpoint, and send notifications within five minutes`,
      { cause: error },
    )
  }
}
