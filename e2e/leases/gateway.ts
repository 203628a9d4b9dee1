import type { FastifyInstance } from 'fastify'
import type { AddressInfo } from 'node:net'
import { WebSocket } from 'ws'
import type { App } from '../../server/src/app.ts'
import { createGateway } from '../../server/src/gateway/server.ts'
import { GatewayClient } from '../../server/test/gateway.ts'
import { rfbOverWebSocket } from '../../server/test/rfb-client.ts'

/** A gateway that can be restarted, with the screen sockets of a machine's sessions. */
export type ScreenGateway = AsyncDisposable & {
  /** Closes every socket and starts another gateway, on another port. */
  restart(): Promise<void>
  /** Resolves to the session's socket, and opens it if necessary. */
  socketOf(sessionId: string): Promise<ScreenSocket>
}

type ScreenSocket = {
  readonly isOpen: boolean
  /** The last fence that the client declared. */
  readonly fence: number | null
  declareFence(fence: number): void
  pointer(x: number, y: number, buttons?: number): void
  press(character: string): void
}

export async function startScreenGateway(
  app: App,
  { id, key }: { readonly id: string; readonly key: string },
): Promise<ScreenGateway> {
  const sockets = new Map<string, ScreenSocket>()
  let http = await listen(app)
  const headers = { authorization: `Bearer ${key}` }
  const connect = async (sessionId: string) => {
    const { port } = http.server.address() as AddressInfo
    const path = `/v1/machines/${id}/screen?session_id=${sessionId}`
    return openScreen(new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers }))
  }
  return {
    async restart() {
      await http.close()
      http = await listen(app)
    },
    async socketOf(sessionId) {
      const known = sockets.get(sessionId)
      if (known?.isOpen) return known
      const socket = await connect(sessionId)
      sockets.set(sessionId, socket)
      return socket
    },
    [Symbol.asyncDispose]: () => http.close(),
  }
}

async function openScreen(webSocket: WebSocket): Promise<ScreenSocket> {
  const client = new GatewayClient(webSocket)
  const rfb = rfbOverWebSocket(webSocket, { format: null, encodings: [], follows: false })
  await client.opened
  await rfb.until(({ isConnected }) => isConnected)
  let declared: number | null = null
  return {
    get isOpen() {
      return webSocket.readyState === WebSocket.OPEN
    },
    get fence() {
      return declared
    },
    declareFence(fence) {
      declared = fence
      client.send({ type: 'input_fence', fence })
    },
    pointer: (x, y, buttons) => rfb.pointer(x, y, buttons),
    press(character) {
      const keysym = character.codePointAt(0)!
      rfb.key(keysym, true)
      rfb.key(keysym, false)
    },
  }
}

async function listen(app: App): Promise<FastifyInstance> {
  const http = await createGateway(app)
  await http.listen({ host: '127.0.0.1', port: 0 })
  return http
}
