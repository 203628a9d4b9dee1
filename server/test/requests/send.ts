import type { FastifyInstance } from 'fastify'
import { Agent, request as startRequest } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { ownOrigin } from '../browser.ts'
import type { RawAnswer } from './checks.ts'
import type { SentRequest } from './request.ts'

/** Sends a request from an address, over a socket or injected. */
export function createSender(http: FastifyInstance, base: URL) {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  return {
    close: () => agent.destroy(),
    async send(request: SentRequest, remoteAddress: string): Promise<RawAnswer> {
      const { method, url, headers, body } = request
      if (!request.isRaw) {
        const answer = await http.inject({
          method: method as 'GET',
          url,
          headers,
          remoteAddress,
          ...(body !== undefined && { payload: body }),
        })
        return { status: answer.statusCode, headers: answer.headers, text: answer.payload }
      }
      const own = headers['origin'] === ownOrigin ? { origin: base.origin } : {}
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
      const outgoing = startRequest({
        host: base.hostname,
        port: base.port,
        agent,
        method,
        path: url,
        headers: { ...headers, ...own, ...length },
      })
      return new Promise((resolve, reject) => {
        outgoing.once('error', reject)
        outgoing.once('response', (response) => {
          buffer(response).then(
            (bytes) =>
              resolve({
                status: response.statusCode!,
                headers: response.headers,
                text: bytes.toString('utf8'),
              }),
            reject,
          )
        })
        outgoing.end(body)
      })
    },
  }
}
