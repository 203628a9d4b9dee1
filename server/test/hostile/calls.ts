import { ErrorEnvelope } from '@computer/contract'
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { Random } from '../../../e2e/harness/random.ts'
import { GatewayClient } from '../gateway.ts'

/* Calls of the owner of a machine whose agent is hostile, and who does not wait for what never ends. */

/** A status, or what became of the call. */
export type Outcome = number | string
export type Target = { readonly id: string; readonly sessionId: string }
export type Origins = { readonly api: string; readonly gateway: string; readonly key: string }

const patienceMs = 500

/** Makes one call of any kind. Throws if an error of the API is no proper one. */
export async function callHostile(
  origins: Origins,
  { id, sessionId }: Target,
  random: Random,
): Promise<Outcome> {
  const path = `/v1/machines/${id}`
  const session = { 'x-session-id': sessionId }
  const [method, rest, body, headers] = random.pick([
    ['GET', '/processes'],
    ['GET', '/terminals'],
    ['GET', '/files?path=/'],
    ['GET', '/files/content?path=/x'],
    ['GET', '/files/content?path=/x', undefined, { accept: 'application/octet-stream' }],
    ['GET', '/files/archive?path=/x'],
    ['GET', '/screenshot'],
    ['GET', '/screenshot', undefined, { accept: 'image/*' }],
    ['GET', '/clipboard'],
    ['GET', '/display'],
    ['GET', '/usage-now'],
    ['POST', '/exec', { command: ['true'] }],
    ['POST', '/processes', { command: ['true'] }],
    ['POST', '/terminals', {}],
    ['POST', '/mouse/move', { x: 1, y: 1 }, session],
    ['POST', '/input-lease', { session_id: sessionId, force: true }],
    ['watch', '/screen'],
    ['watch', `/terminals/trm_${'0'.repeat(26)}`],
  ] as const)
  if (method === 'watch') return watch(origins, path + rest, random)
  return request(origins, method, path + rest, body, headers)
}

async function request(
  { api, key }: Origins,
  method: string,
  path: string,
  body?: object,
  more?: Readonly<Record<string, string>>,
): Promise<Outcome> {
  const signal = AbortSignal.timeout(patienceMs)
  const read = async () => {
    const answer = await fetch(api + path, {
      method,
      signal,
      headers: {
        authorization: `Bearer ${key}`,
        ...more,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, content: Buffer.from(await answer.arrayBuffer()) }
  }
  const answer = await read().catch(() => (signal.aborted ? 'gave up' : 'cut off'))
  if (typeof answer === 'string') return answer
  if (answer.status >= 400) requireEnvelope(answer.status, answer.content)
  return answer.status
}

function requireEnvelope(status: number, content: Buffer): void {
  const { error } = ErrorEnvelope.strict().parse(JSON.parse(content.toString()))
  assert.notEqual(error.code, 'internal_error', error.message)
  assert.ok(error.message.length < 2_000 && status < 500 + 4, error.message)
}

async function watch({ gateway, key }: Origins, path: string, random: Random): Promise<Outcome> {
  const socket = new WebSocket(gateway.replace('http', 'ws') + path, {
    headers: { authorization: `Bearer ${key}` },
  })
  try {
    const client = new GatewayClient(socket)
    const isOpen = client.opened.then(() => true)
    if (!(await Promise.race([isOpen, pause(patienceMs, false)]))) return 'gave up'
    await Promise.race([client.closed, pause(random.below(patienceMs))])
    return 'watched'
  } catch {
    return 'refused'
  } finally {
    socket.terminate()
  }
}
