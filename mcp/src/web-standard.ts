import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import { HttpError } from './http-error.ts'

/* Converts between Node's HTTP types and the web-standard ones that the protocol library uses. */

const maxBodyBytes = 4 * 1024 * 1024

/** Reads the whole body first, because abandoning a half-read stream closes the connection. */
export async function readRequest(request: IncomingMessage): Promise<Request> {
  const { method, url } = request
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(request.headersDistinct))
    for (const value of values) headers.append(name, value)
  const body = method === 'POST' ? await readBody(request) : null
  return new Request(new URL(url!, 'http://localhost'), { method: method!, headers, body })
}

export function sendResponse(response: ServerResponse, result: Response): void {
  response.writeHead(result.status, Object.fromEntries(result.headers))
  // An event stream must open before its first event.
  response.flushHeaders()
  if (!result.body) return void response.end()
  // Ignores clients that disconnect early.
  pipeline(Readable.fromWeb(result.body), response, () => {})
}

async function readBody(request: IncomingMessage): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      bytes += (chunk as Buffer).length
      if (bytes > maxBodyBytes)
        throw new HttpError(413, `request body too large; the limit is ${maxBodyBytes} bytes`)
      chunks.push(chunk as Buffer)
    }
  } catch (cause) {
    if (cause instanceof HttpError) throw cause
    throw new HttpError(400, 'the request body was cut short', { cause })
  }
  return Buffer.concat(chunks)
}
