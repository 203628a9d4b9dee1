import type { FastifyInstance } from 'fastify'
import { Agent, request as startRequest } from 'node:http'
import type { Readable } from 'node:stream'
import { ownOrigin } from '../browser.ts'
import type { RawAnswer } from './checks.ts'
import type { SentRequest } from './request.ts'

/** An archive can be as long as all of a machine's disk, and the rest of one tells no more. */
const mostBytes = 16 * 1024 * 1024

/** Sends a request from an address, over a socket or injected. Archives come over a socket, which can be closed. */
export function createSender(http: FastifyInstance, base: URL) {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  return {
    close: () => agent.destroy(),
    async send(request: SentRequest, remoteAddress: string): Promise<RawAnswer> {
      const { method, url, headers, body } = request
      if (!request.isRaw && !isArchive(request)) {
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
        path: request.isRaw ? url : writtenByBrowser(url),
        headers: { ...headers, ...own, ...length },
      })
      return new Promise((resolve, reject) => {
        outgoing.once('error', reject)
        outgoing.once('response', (response) => {
          readStart(response, isArchive(request)).then(
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

function isArchive({ method, url }: SentRequest): boolean {
  return method === 'GET' && url.split('?')[0]!.endsWith('/files/archive')
}

function writtenByBrowser(url: string): string {
  const { pathname, search } = new URL(url, 'http://localhost')
  return pathname + search
}

/** All bytes, or the first ones if the rest may be missing. */
async function readStart(response: Readable, mayBeLong: boolean): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes <= mostBytes) continue
    if (mayBeLong) break
    throw new Error('the answer is too long')
  }
  return Buffer.concat(chunks)
}
