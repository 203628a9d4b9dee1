import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import { HttpRefusal } from './http-refusal.ts'

/* Between Node's requests and answers and those of the web standard, which the protocol is served over. */

const maxBodyBytes = 4 * 1024 * 1024

/** Reads the whole body first: a stream that is given up half read takes the connection with it. */
export async function readRequest(request: IncomingMessage): Promise<Request> {
  const { method, url } = request
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(request.headersDistinct))
    for (const value of values) headers.append(name, value)
  const body = method === 'POST' ? await readBody(request) : null
  return new Request(new URL(url!, 'http://localhost'), { method: method!, headers, body })
}

export function sendAnswer(response: ServerResponse, answer: Response): void {
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  // A stream of events is open before there is one.
  response.flushHeaders()
  if (!answer.body) return void response.end()
  // What is left for a client that leaves is dropped.
  pipeline(Readable.fromWeb(answer.body), response, () => {})
}

async function readBody(request: IncomingMessage): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Buffer[] = []
  let bytes = 0
  try {
    for await (const piece of request.iterator({ destroyOnReturn: false })) {
      bytes += (piece as Buffer).length
      if (bytes > maxBodyBytes)
        throw new HttpRefusal(413, `a body has at most ${maxBodyBytes} bytes`)
      pieces.push(piece as Buffer)
    }
  } catch (cause) {
    if (cause instanceof HttpRefusal) throw cause
    throw new HttpRefusal(400, 'the body did not arrive whole', { cause })
  }
  return Buffer.concat(pieces)
}
