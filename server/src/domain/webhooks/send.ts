import { request as requestPlain, type ClientRequest } from 'node:http'
import { request as requestTls } from 'node:https'
import { isIP } from 'node:net'
import { AddressRefused, type WebhookAddresses } from './addresses.ts'

/** What came of an attempt: an answer, or the reason why there was none. */
export type Attempt = { readonly status: number } | { readonly error: string }

const answerWithinMs = 15_000
/** The body of an answer means nothing; more of it is not read. */
const maxAnswerBytes = 64 * 1024
const maxHeaderBytes = 16 * 1024

/** Posts a message. Follows no redirect. The whole exchange has a time limit. */
export function sendMessage(
  addresses: WebhookAddresses,
  url: URL,
  headers: Readonly<Record<string, string>>,
  payload: string,
): Promise<Attempt> {
  const refusal = refusalOf(addresses, url)
  if (refusal !== undefined) return Promise.resolve({ error: refusal })
  const body = Buffer.from(payload)
  return new Promise((resolve) => {
    const send = url.protocol === 'https:' ? requestTls : requestPlain
    const request: ClientRequest = send(url, {
      method: 'POST',
      // A connection of its own: the addresses are checked for each message.
      agent: false,
      lookup: addresses.lookup,
      maxHeaderSize: maxHeaderBytes,
      headers: {
        ...headers,
        'content-type': 'application/json',
        'content-length': body.length,
        'user-agent': 'Computer-Webhooks/1.0',
      },
    })
    const limit = setTimeout(() => settle({ error: 'no answer within 15 seconds' }), answerWithinMs)
    const settle = (attempt: Attempt) => {
      clearTimeout(limit)
      request.destroy()
      resolve(attempt)
    }
    request.on('error', (error) => settle({ error: describe(error) }))
    request.once('response', (response) => {
      let read = 0
      const status = response.statusCode ?? 0
      response.on('data', (chunk: Buffer) => {
        read += chunk.length
        if (read > maxAnswerBytes) settle({ status })
      })
      response.once('end', () => settle({ status }))
      response.once('error', (error) => settle({ error: describe(error) }))
    })
    request.end(body)
  })
}

/** Why a message is not sent there at all. A name is looked up, and checked, with the connection. */
export function refusalOf(addresses: WebhookAddresses, url: URL): string | undefined {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(host) !== 0 && !addresses.isAllowed(host)) return 'the address is in a private network'
  if (url.protocol === 'https:') return undefined
  return addresses.hasListed ? undefined : 'the address must begin with https://'
}

/** Of the receiver's side: nothing of this host. */
function describe(error: Error & { readonly code?: string }): string {
  if (error instanceof AddressRefused) return error.message
  switch (error.code) {
    case 'ECONNREFUSED':
      return 'the connection was refused'
    case 'ECONNRESET':
    case 'EPIPE':
      return 'the connection broke off'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the name could not be resolved'
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return 'the address could not be reached'
  }
  if (/certificate|ssl|tls/i.test(`${error.code} ${error.message}`)) {
    return 'the certificate of the receiver is not valid'
  }
  return 'the answer is no valid HTTP'
}
