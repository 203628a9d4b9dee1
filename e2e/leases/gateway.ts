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
  /** The session is that of a guest, who connects with a cookie. */
  admitGuest(sessionId: string, cookie: string): void
  /** Resolves to the session's socket, and opens it if necessary. */
  socketOf(sessionId: string): Promise<ScreenSocket>
  /**
   * Resolves to a new one whose gateway has read the lease with this fence or a later one, and has a stream to the agent.
   * A private holding of another session, which was before, neither closes it nor interrupts that stream.
   */
  settledSocketOf(sessionId: string, fence: number): Promise<ScreenSocket>
}

type ScreenSocket = {
  readonly isOpen: boolean
  /** The last fence that the client declared. */
  readonly fence: number | null
  /** Resolves to false if the socket has closed before it was told of such a fence. */
  sees(fence: number): Promise<boolean>
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
  const cookies = new Map<string, string>()
  const connect = async (sessionId: string) => {
    const { port } = http.server.address() as AddressInfo
    const path = `/v1/machines/${id}/screen?session_id=${sessionId}`
    const cookie = cookies.get(sessionId)
    const headers: Record<string, string> =
      cookie === undefined
        ? { authorization: `Bearer ${key}` }
        : { cookie, origin: `http://127.0.0.1:${port}` }
    return openScreen(new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers }))
  }
  const socketOf = async (sessionId: string) => {
    const known = sockets.get(sessionId)
    if (known?.isOpen) return known
    const socket = await connect(sessionId)
    sockets.set(sessionId, socket)
    return socket
  }
  return {
    async restart() {
      await http.close()
      http = await listen(app)
    },
    admitGuest: (sessionId, cookie) => void cookies.set(sessionId, cookie),
    socketOf,
    async settledSocketOf(sessionId, fence) {
      for (;;) {
        const socket = await connect(sessionId).catch(() => undefined)
        if (!socket || !(await socket.sees(fence))) continue
        sockets.set(sessionId, socket)
        return socket
      }
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
    sees: (fence) =>
      client
        .until(({ controls }) =>
          controls.some((one) => one['type'] === 'lease' && Number(one['fence']) >= fence),
        )
        .catch(() => false),
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
