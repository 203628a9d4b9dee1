import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Duplex } from 'node:stream'
import { z } from 'zod'
import { DriverError } from '../drivers/machine-driver.ts'
import type { PeerAddress } from './peer.ts'

/** The engine of the host may take seconds to reach an agent. */
const replyTimeoutMs = 15_000
const streamTimeoutMs = 60_000
const maxReplyBytes = 65_536

const Failure = z.object({ message: z.string(), retryable: z.boolean(), ofEngine: z.boolean() })

/** The worker of another host, and the token that it accepts. */
export type Reached = PeerAddress & { readonly token: string }

type Request = {
  readonly path: string
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  /** How long the worker may say nothing. */
  readonly timeoutMs?: number
}

type Exchange = { readonly reply: IncomingMessage; readonly socket: Duplex | null }

/**
 * Asks a worker. Resolves with a response that does not refuse, and the stream if it switches protocols. All that this and
 * what follows throws is a DriverError.
 */
export function exchange(
  { address, port, certificate, token }: Reached,
  { path, method = 'GET', headers = {}, timeoutMs = replyTimeoutMs }: Request,
): Promise<Exchange> {
  const { promise, resolve, reject } = Promise.withResolvers<Exchange>()
  const request = httpsRequest({
    host: address,
    port,
    path,
    method,
    agent: false,
    // The one certificate that is valid is the listener's own, which names no address.
    ca: certificate,
    checkServerIdentity: () => undefined,
    headers: { authorization: `Bearer ${token}`, ...headers },
    timeout: timeoutMs,
  })
  request.once('timeout', () => request.destroy(new Error('it did not answer in time')))
  request.once('error', (cause) => reject(unreachable(cause)))
  request.once('upgrade', (reply, socket, head) => {
    socket.setTimeout(0)
    socket.setNoDelay(true)
    if (head.length > 0) socket.unshift(head)
    resolve({ reply, socket })
  })
  request.once('response', (reply) => {
    if (reply.statusCode === 200) resolve({ reply, socket: null })
    else readFailure(reply).then(reject, (cause: Error) => reject(unreachable(cause)))
  })
  request.end()
  return promise
}

/** Streams the response. */
export async function download(worker: Reached, path: string): Promise<IncomingMessage> {
  const { reply } = await exchange(worker, { path })
  // The engine that receives it may be slow.
  reply.socket.setTimeout(streamTimeoutMs)
  return reply
}

/** The JSON of the response. */
export async function ask<Schema extends z.ZodType>(
  worker: Reached,
  schema: Schema,
  request: Request,
  maxBytes = maxReplyBytes,
): Promise<z.output<Schema>> {
  const { reply } = await exchange(worker, request)
  try {
    return schema.parse(JSON.parse(await readText(reply, maxBytes)))
  } catch (cause) {
    throw unreachable(cause as Error)
  }
}

export function unreachable(cause: Error): DriverError {
  return new DriverError(`the worker of the host cannot be reached: ${cause.message}`, {
    retryable: true,
    ofEngine: true,
    cause,
  })
}

async function readFailure(reply: IncomingMessage): Promise<DriverError> {
  const text = await readText(reply, maxReplyBytes)
  if (reply.statusCode !== 502) throw new Error(`it responds with status ${reply.statusCode}`)
  const { message, ...rest } = Failure.parse(JSON.parse(text))
  return new DriverError(message, rest)
}

async function readText(reply: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of reply) {
    length += (chunk as Buffer).length
    if (length > maxBytes) throw new Error('its reply is too long')
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString('utf8')
}
