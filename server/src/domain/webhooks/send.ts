import { Agent as PlainAgent, request as requestPlain, type ClientRequest } from 'node:http'
import { Agent as TlsAgent, request as requestTls } from 'node:https'
import type { Resolver } from 'node:dns/promises'
import type { AddressRules } from './addresses.ts'
import { createResolver, guardLookups, Unreachable } from './lookup.ts'

/** What came of an attempt: the status of the answer, or the reason why there was none. */
export type Attempt = { readonly status: number } | { readonly error: string }

export type MessageSender = Disposable & {
  /**
   * Posts a message, and follows no redirect. Never rejects. The status decides, whatever comes after it. The receiver
   * may get a message twice, because a connection that it had closed meanwhile is replaced.
   */
  send(url: URL, headers: Readonly<Record<string, string>>, payload: string): Promise<Attempt>
}

/** The body of an answer means nothing; more of it is not read. */
const maxAnswerBytes = 64 * 1024
const maxHeaderBytes = 16 * 1024
/** Connections are kept for the next message, a few to a receiver. */
const kept = { keepAlive: true, maxFreeSockets: 4, timeout: 30_000 }

/** `answerMs` is how long the whole exchange of a message may take. */
export function createMessageSender(options: {
  readonly rules: AddressRules
  readonly answerMs: number
  readonly resolver?: Resolver
}): MessageSender {
  const { rules, answerMs, resolver = createResolver() } = options
  const [plain, tls] = [new PlainAgent(kept), new TlsAgent(kept)]
  const lookups = {
    plain: guardLookups(rules, resolver, 'http:'),
    tls: guardLookups(rules, resolver, 'https:'),
  }
  const open = (url: URL, headers: Readonly<Record<string, string | number>>): ClientRequest => {
    const shared = { method: 'POST', maxHeaderSize: maxHeaderBytes, headers }
    return url.protocol === 'https:'
      ? requestTls(url, { ...shared, agent: tls, lookup: lookups.tls })
      : requestPlain(url, { ...shared, agent: plain, lookup: lookups.plain })
  }
  return {
    async send(url, headers, payload) {
      const refusal = rules.refusalOf(url)
      if (refusal !== undefined) return { error: refusal }
      const body = Buffer.from(payload)
      const all = {
        ...headers,
        'content-type': 'application/json',
        'content-length': body.length,
        'user-agent': 'Computer-Webhooks/1.0',
      }
      return exchange(() => open(url, all), body, answerMs)
    },
    [Symbol.dispose]() {
      plain.destroy()
      tls.destroy()
    },
  }
}

/** Posts again if the receiver had closed the kept connection, which shows only when it is used. */
async function exchange(
  open: () => ClientRequest,
  body: Buffer,
  answerMs: number,
): Promise<Attempt> {
  const late = new AbortController()
  const limit = setTimeout(
    () => late.abort(`no answer within ${answerMs / 1000} seconds`),
    answerMs,
  )
  try {
    for (;;) {
      const request = open()
      const attempt = await post(request, body, late.signal)
      const isStale = 'error' in attempt && attempt.error === brokenOff && request.reusedSocket
      if (!isStale || late.signal.aborted) return attempt
    }
  } finally {
    clearTimeout(limit)
  }
}

/** Once there is a status, it is the outcome. Resolves when the answer is complete, cut off or too long, or on abort. */
function post(request: ClientRequest, body: Buffer, late: AbortSignal): Promise<Attempt> {
  const { promise, resolve } = Promise.withResolvers<Attempt>()
  let answer: Attempt | undefined
  const cut = (reason: string) => {
    resolve(answer ?? { error: reason })
    request.destroy()
  }
  late.addEventListener('abort', () => cut(late.reason as string), { once: true })
  request.on('error', (error) => cut(describe(error)))
  request.once('close', () => cut(brokenOff))
  request.once('response', (response) => {
    const known = { status: response.statusCode ?? 0 }
    answer = known
    let read = 0
    response.on('data', (chunk: Buffer) => {
      read += chunk.length
      if (read > maxAnswerBytes) cut('')
    })
    response.on('error', () => cut(''))
    // The connection stays open for the next message.
    response.once('end', () => resolve(known))
  })
  request.end(body)
  return promise
}

const brokenOff = 'the connection broke off'

/** Why there was no answer, in words about the receiver and not about this host. */
function describe(error: Error & { readonly code?: string }): string {
  if (error instanceof Unreachable) return error.message
  switch (error.code) {
    case 'ECONNREFUSED':
      return 'the connection was refused'
    case 'ECONNRESET':
    case 'EPIPE':
      return brokenOff
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return 'the address could not be reached'
  }
  if (error.code?.startsWith('HPE_') === true) return 'the answer is not valid HTTP'
  if (/cert|ssl|tls|EPROTO/i.test(`${error.code} ${error.message}`)) {
    return 'no TLS connection could be made: check the certificate of the receiver'
  }
  return 'the message could not be sent'
}
