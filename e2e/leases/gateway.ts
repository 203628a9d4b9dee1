import type { FastifyInstance } from 'fastify'
import type { AddressInfo } from 'node:net'
import { WebSocket } from 'ws'
import type { App } from '../../server/src/app.ts'
import { createGateway } from '../../server/src/gateway/server.ts'
import { GatewayClient } from '../../server/test/gateway.ts'
import { rfbOverWebSocket } from '../../server/test/rfb-client.ts'

/** A gateway that can be restarted, and the screen sockets of a machine's clients. */
export type ScreenGateway = AsyncDisposable & {
  /** Every socket is closed. What comes after is another gateway, at another port. */
  restart(): Promise<void>
  connect(sessionId: string): Promise<ScreenSocket>
}

export type ScreenSocket = {
  readonly isOpen: boolean
  nameFence(fence: number): void
  pointer(x: number, y: number, buttons?: number): void
  strike(character: string): void
  close(): Promise<void>
}

export async function startScreenGateway(
  app: App,
  { id, key }: { readonly id: string; readonly key: string },
): Promise<ScreenGateway> {
  let http = await listen(app)
  return {
    async restart() {
      await http.close()
      http = await listen(app)
    },
    async connect(sessionId) {
      const { port } = http.server.address() as AddressInfo
      const url = `ws://127.0.0.1:${port}/v1/machines/${id}/screen?session_id=${sessionId}`
      const headers = { authorization: `Bearer ${key}` }
      const client = new GatewayClient(new WebSocket(url, { headers }))
      const rfb = rfbOverWebSocket(client.socket, { format: null, encodings: [], follows: false })
      await client.opened
      await rfb.until(({ isConnected }) => isConnected)
      return {
        get isOpen() {
          return client.socket.readyState === WebSocket.OPEN
        },
        nameFence: (fence) => client.send({ type: 'input_fence', fence }),
        pointer: (x, y, buttons) => rfb.pointer(x, y, buttons),
        strike(character) {
          const keysym = character.codePointAt(0)!
          rfb.key(keysym, true)
          rfb.key(keysym, false)
        },
        close: () => client.close(),
      }
    },
    [Symbol.asyncDispose]: () => http.close(),
  }
}

async function listen(app: App): Promise<FastifyInstance> {
  const http = await createGateway(app)
  await http.listen({ host: '127.0.0.1', port: 0 })
  return http
}
