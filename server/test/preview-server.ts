import type { Preview } from '@computer/contract'
import { createServer, request as sendRequest, type RequestListener, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { startPreviewServer } from '../src/gateway/previews/server.ts'
import { startTestServer, type Lifetime } from './harness.ts'

/** Previews without TLS, as behind a proxy on the same host. */
const env = {
  COMPUTER_PREVIEW_CERT: '',
  COMPUTER_PREVIEW_KEY: '',
  COMPUTER_TRUST_PROXY: '127.0.0.1',
  COMPUTER_BASE_URL: 'https://computer.example',
}

export type TestPreviews = Awaited<ReturnType<typeof startTestPreviews>>
export type Reply = {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly text: string
}
export type Ask = {
  readonly method?: string
  readonly headers?: Record<string, string | string[]>
  readonly body?: string | Buffer
}

/** A test server with a preview listener and one running machine. */
export async function startTestPreviews(t: Lifetime, extraEnv: Record<string, string> = {}) {
  const server = await startTestServer(t, { env: { ...env, ...extraEnv } })
  const { app } = server
  const previews = await startPreviewServer(app, { ...app.config.previews!, port: 0 })
  let stopping: Promise<void> | undefined
  const stop = () => (stopping ??= previews.close())
  t.after(stop)
  const machine = await server.machine()

  return {
    server,
    previews,
    stop,
    machine,
    port: previews.port,
    async publish(input: Record<string, unknown> = {}, id: string = machine.id) {
      const answer = await server.call('POST', `/v1/machines/${id}/ports`, { port: 80, ...input })
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
      const preview = answer.body as Preview
      return { ...preview, host: new URL(preview.url).host }
    },
    unpublish: (id: string) => server.call('DELETE', `/v1/machines/${machine.id}/ports/${id}`),
    /** Starts a web server inside the machine. */
    listen(listener: RequestListener, { port = 80, id = machine.id } = {}): Server {
      const web = createServer(listener)
      server.guest(id).ports.listen(port, (connection) => web.emit('connection', connection))
      return web
    },
    /** Serves raw TCP on a port of the machine. */
    accept(port: number, listener: (connection: Duplex) => void): void {
      server.guest(machine.id).ports.listen(port, listener)
    },
    ask: (host: string, path = '/', input: Ask = {}) => ask(previews.port, host, path, input),
    /** A raw connection, for bytes that no client would send. */
    connect: () => open(previews.port),
    /** Sends bytes and resolves to everything received until the other side closes. */
    async raw(bytes: string | Buffer): Promise<string> {
      const socket = await open(previews.port)
      socket.write(bytes)
      return readAll(socket)
    },
  }
}

export function ask(port: number, host: string, path: string, input: Ask): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { method = 'GET', headers = {}, body } = input
    const length = body && { 'content-length': Buffer.byteLength(body) }
    const options = { host: '127.0.0.1', port, path, method, agent: false as const }
    const request = sendRequest(
      { ...options, headers: { host, ...length, ...headers } },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        answer.on('error', reject)
        answer.on('end', () => {
          resolve({ status: answer.statusCode!, headers: answer.headers, text })
        })
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  socket.on('error', () => {})
  return socket
}

export async function readAll(socket: Socket): Promise<string> {
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk) => (text += String(chunk)))
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
  return text
}
