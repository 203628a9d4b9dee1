import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Sample } from './measure.ts'

export type Load = {
  readonly url: URL
  readonly headers?: Readonly<Record<string, string>>
  /** Each connection sends its next request when the last response is complete. */
  readonly connections: number
  readonly requests: number
  /** The expected body of every response, in ASCII. */
  readonly body: string
}

/**
 * Sends the GET requests over connections that are open before the clock starts. It writes and reads HTTP
 * itself, because a client library takes longer per request than the servers that are measured.
 */
export async function runLoad(load: Load): Promise<Sample> {
  const sockets = await Promise.all(Array.from({ length: load.connections }, () => open(load.url)))
  try {
    const request = Buffer.from(writeRequest(load))
    const progress: Progress = { unsent: load.requests, wrong: undefined }
    const start = performance.now()
    await Promise.all(sockets.map((socket) => sendRequests(socket, request, load.body, progress)))
    return { ms: performance.now() - start, wrong: progress.wrong }
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

type Progress = { unsent: number; wrong: string | undefined }

async function open({ hostname, port }: URL): Promise<Socket> {
  const socket = connect(Number(port), hostname).setNoDelay(true).setEncoding('latin1')
  await once(socket, 'connect')
  return socket
}

function sendRequests(
  socket: Socket,
  request: Buffer,
  body: string,
  progress: Progress,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = ''
    const next = () => {
      if (progress.unsent === 0) return resolve()
      progress.unsent -= 1
      socket.write(request)
    }
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the server closed a connection')))
    socket.on('data', (part: string) => {
      text += part
      const response = readResponse(text)
      if (!response) return
      text = ''
      if (response.status !== 200 || response.body !== body) {
        progress.wrong ??= `${response.status} ${response.body.slice(0, 200)}`
      }
      next()
    })
    next()
  })
}

function writeRequest({ url, headers = {} }: Load): string {
  const lines = Object.entries({ host: url.host, ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  )
  return [`GET ${url.pathname} HTTP/1.1`, ...lines, '', ''].join('\r\n')
}

/** The response, if it is complete. */
function readResponse(
  text: string,
): { readonly status: number; readonly body: string } | undefined {
  const head = text.indexOf('\r\n\r\n')
  if (head === -1) return undefined
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? NaN)
  const body = text.slice(head + 4)
  if (body.length < length) return undefined
  return { status: Number(text.slice(9, 12)), body }
}
