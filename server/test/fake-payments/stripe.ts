import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { catalogEndpoints } from './catalog-endpoints.ts'
import { checkoutEndpoints } from './checkout-endpoints.ts'
import type { FakeEndpoint } from './endpoint.ts'
import { decodeForm } from './form.ts'
import { invoiceEndpoints } from './invoice-endpoints.ts'
import { answerPage } from './pages.ts'
import { readParameters, StripeRefusal } from './parameters.ts'
import { createState, type State } from './state.ts'
import { subscriptionEndpoints } from './subscription-endpoints.ts'
import { createWebhooks, type Webhooks } from './webhooks.ts'

/*
 * A stateful fake of the part of Stripe that the server uses, as an HTTP server: the endpoints of the API, its
 * idempotency keys, the pages on which people pay, and signed notifications. It is written from the types
 * and the documentation of Stripe, not recorded from it.
 */

const endpoints: readonly FakeEndpoint[] = [
  ...catalogEndpoints,
  ...checkoutEndpoints,
  ...subscriptionEndpoints,
  ...invoiceEndpoints,
]
const apiVersion = '2026-10-28.endive'

export type FakeStripe = Awaited<ReturnType<typeof startFakeStripe>>
type Call = { readonly method: string; readonly path: string }
/** Lets a call fail before the fake does what it asks for, or after. Tests set it to break off work. */
type Interruption = (call: Call, number: number) => 'before' | 'after' | undefined

export async function startFakeStripe(t: { after(end: () => void | Promise<void>): void }) {
  const secretKey = 'sk_test_fake'
  const webhookSecret = 'whsec_fake'
  const clock = { offset: 0 }
  const now = () => Math.floor(Date.now() / 1000) + clock.offset
  const { hooks, emit } = createWebhooks({ secret: webhookSecret, now })
  const kept = new Map<string, KeptAnswer>()
  const calls: Call[] = []
  const control: { interrupt: Interruption | undefined } = { interrupt: undefined }

  const server = createServer((request, response) => {
    void answer(request, response).catch((error: unknown) => {
      send(response, 500, { error: { type: 'api_error', message: String(error) } })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  t.after(async () => {
    await hooks.settled()
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const state: State = createState({ url, now, emit })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, search } = new URL(request.url!, url)
    const method = request.method!
    const body = await readText(request)
    if (!pathname.startsWith('/v1/')) return answerBrowser(response, method, pathname)
    const stranger = refuseClient(request)
    if (stranger) return send(response, stranger.status, { error: stranger.body })
    const call = { method, path: pathname }
    const interruption = control.interrupt?.(call, calls.push(call))
    if (interruption === 'before') return breakOff(response)
    const form = method === 'POST' ? body : search.slice(1)
    const key = request.headers['idempotency-key']
    const { status, json } = runOnce(kept, { key: String(key ?? ''), method, pathname, form }, () =>
      run(state, method, pathname, form),
    )
    if (interruption === 'after') return breakOff(response)
    send(response, status, json)
  }

  function answerBrowser(response: ServerResponse, method: string, path: string): void {
    const page = answerPage(state, method, path)
    if (!page) return send(response, 404, {})
    if ('location' in page) response.writeHead(303, { location: page.location }).end()
    else response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page.html)
  }

  function refuseClient({ headers }: IncomingMessage): StripeRefusal | null {
    const key = headers.authorization?.replace('Bearer ', '') ?? ''
    if (key !== secretKey) {
      const shown = `${key.slice(0, 8)}********${key.slice(-4)}`
      return new StripeRefusal(401, { message: `Invalid API Key provided: ${shown}` })
    }
    if (headers['stripe-version'] === apiVersion) return null
    return new StripeRefusal(400, { message: 'Invalid Stripe API version' })
  }

  return {
    url,
    secretKey,
    webhookSecret,
    state,
    webhooks: hooks as Webhooks,
    /** Every call of the API so far. */
    calls,
    control,
    /** The settings of a server that uses this fake. */
    env: {
      COMPUTER_STRIPE_SECRET_KEY: secretKey,
      COMPUTER_STRIPE_WEBHOOK_SECRET: webhookSecret,
      COMPUTER_STRIPE_API_URL: url,
    },
    /** As a day later: what was done under a key is not known any more. */
    forgetKeys: () => kept.clear(),
    advance(seconds: number) {
      clock.offset += seconds
    },
  }
}

type Outcome = { readonly status: number; readonly json: object }
type KeptAnswer = Outcome & { readonly request: string }

/** Answers a repeated call under the same key as the first one. */
function runOnce(
  kept: Map<string, KeptAnswer>,
  {
    key,
    ...call
  }: {
    readonly key: string
    readonly method: string
    readonly pathname: string
    readonly form: string
  },
  work: () => Outcome,
): Outcome {
  if (key === '' || call.method === 'GET') return work()
  const request = JSON.stringify(call)
  const known = kept.get(key)
  if (known && known.request !== request) {
    return refusal(
      new StripeRefusal(400, {
        type: 'idempotency_error',
        message: `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}'`,
      }),
    )
  }
  if (known) return known
  const outcome = work()
  // What was refused was not begun, so its key is free.
  if (outcome.status < 400) kept.set(key, { ...structuredClone(outcome), request })
  return outcome
}

function run(state: State, method: string, path: string, form: string): Outcome {
  try {
    for (const endpoint of endpoints) {
      const id = matchPath(endpoint, method, path)
      if (id === undefined) continue
      const values = readParameters(endpoint.parameters, decodeForm(form))
      return { status: 200, json: endpoint.handle(state, values, id) }
    }
    throw new StripeRefusal(404, { message: `Unrecognized request URL (${method}: ${path}).` })
  } catch (error) {
    if (error instanceof StripeRefusal) return refusal(error)
    throw error
  }
}

function matchPath(endpoint: FakeEndpoint, method: string, path: string): string | undefined {
  if (endpoint.method !== method) return undefined
  const pattern = new RegExp(`^${endpoint.path.replace('*', '([^/]+)')}$`)
  const match = pattern.exec(path)
  return match ? (match[1] ?? '') : undefined
}

function refusal({ status, body }: StripeRefusal): Outcome {
  return { status, json: { error: body } }
}

/** As a connection that is lost, but for good: the package does not try again by itself. */
function breakOff(response: ServerResponse): void {
  response.setHeader('stripe-should-retry', 'false')
  send(response, 500, { error: { type: 'api_error', message: 'the call was broken off' } })
}

function send(response: ServerResponse, status: number, json: object): void {
  response
    .writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_fake' })
    .end(JSON.stringify(json))
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text
}
