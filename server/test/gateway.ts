import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { WebSocket, type ClientOptions } from 'ws'
import type { App } from '../src/app.ts'
import { createGateway } from '../src/gateway/server.ts'
import type { Lifetime } from './harness.ts'

/** A gateway over the database of a test server, on its own port unless the test names one. */
export async function startTestGateway(t: Lifetime, app: App, ownPort = 0) {
  const http = await createGateway(app)
  const clients: GatewayClient[] = []
  let stopping: Promise<void> | undefined
  const stop = () => (stopping ??= http.close())
  // Its timers would keep the process of the test alive, also if it cannot listen.
  t.after(async () => {
    for (const client of clients) client.socket.terminate()
    await stop()
  })
  await http.listen({ host: '127.0.0.1', port: ownPort })
  const { port } = http.server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    stop,
    /** Resolves after the handshake. Rejects with HandshakeRefused. */
    async connect(path: string, options: ClientOptions & { protocols?: string[] } = {}) {
      const { protocols = [], ...rest } = options
      const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols, rest)
      const client = new GatewayClient(socket)
      clients.push(client)
      await client.opened
      return client
    },
  }
}

export class HandshakeRefused extends Error {
  readonly status: number
  // Bodies are looked at field by field in the tests.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any

  constructor(status: number, body: unknown) {
    super(`the handshake was refused: ${status} ${JSON.stringify(body)}`)
    this.status = status
    this.body = body
  }
}

type Frame = { readonly control: Record<string, unknown> } | { readonly payload: Buffer }

/** A WebSocket that records received frames in order. */
export class GatewayClient {
  readonly socket: WebSocket
  readonly opened: Promise<void>
  readonly closed: Promise<{ code: number; reason: string }>
  readonly frames: Frame[] = []
  /** Ticks are counted and are no frames: they may come between any others. */
  ticks = 0
  firstTick: Record<string, unknown> | undefined
  #arrived = Promise.withResolvers<void>()

  constructor(socket: WebSocket) {
    this.socket = socket
    socket.on('message', (data: Buffer, isBinary) => {
      const frame: Frame = isBinary
        ? { payload: data }
        : { control: JSON.parse(data.toString('utf8')) }
      if ('control' in frame && frame.control['type'] === 'tick') {
        this.ticks++
        this.firstTick ??= frame.control
      } else this.frames.push(frame)
      this.#arrived.resolve()
      this.#arrived = Promise.withResolvers()
    })
    this.closed = new Promise((resolve) => {
      socket.once('close', (code, reason) => {
        this.#arrived.resolve()
        resolve({ code, reason: reason.toString() })
      })
    })
    this.opened = new Promise((resolve, reject) => {
      socket.once('open', resolve)
      socket.once('unexpected-response', (_request, response) => {
        let text = ''
        response.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')))
        response.on('end', () => {
          reject(
            new HandshakeRefused(response.statusCode ?? 0, text === '' ? null : JSON.parse(text)),
          )
        })
      })
      socket.on('error', reject)
    })
  }

  get controls(): Record<string, unknown>[] {
    return this.frames.flatMap((frame) => ('control' in frame ? [frame.control] : []))
  }

  send(message: unknown): void {
    this.socket.send(JSON.stringify(message))
  }

  /** Runs `find` now and after every frame, and resolves with its first result. */
  async until<T>(find: (client: this) => T | undefined | false): Promise<T> {
    for (;;) {
      const found = find(this)
      if (found !== undefined && found !== false) return found
      if (this.socket.readyState === WebSocket.CLOSED) throw new Error('the connection has closed')
      await this.#arrived.promise
    }
  }

  async close(): Promise<void> {
    this.socket.close()
    if (this.socket.readyState !== WebSocket.CLOSED) await once(this.socket, 'close')
  }
}
