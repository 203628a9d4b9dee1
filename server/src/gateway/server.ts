import { closeCode, type Channel } from '@computer/contract'
import websocket from '@fastify/websocket'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { WebSocket } from 'ws'
import type { Actor } from '../actor.ts'
import type { App } from '../app.ts'
import { authenticate, authenticateGuestOf, authenticateToken } from '../http/authenticate.ts'
import { addHealthRoutes } from '../http/health.ts'
import { createHttp } from '../http/server.ts'
import { mountActivityChannels } from './activity-channels.ts'
import { ActivityFeeds } from './activity-feeds.ts'
import type { GatewayContext } from './channel.ts'
import { terminateSoon } from './connection.ts'
import { OpenConnections } from './open-connections.ts'
import { EventFeedRegistry } from './event-feed-registry.ts'
import { mountEventChannels } from './event-channels.ts'
import { watchAuthorization } from './authorization-watch.ts'
import { mountScreenChannel } from './screen-channel.ts'
import { ScreenHubRegistry } from './screen/hub-registry.ts'
import { SessionSockets } from './screen/session-sockets.ts'
import { mountTerminalChannel } from './terminal-channel.ts'
import { Traffic } from './traffic.ts'

/** Larger frames are refused before they are complete. Channels have smaller limits of their own. */
const maxFrameBytes = 4 * 1024 * 1024
const tokenProtocol = /^bearer\.(\S+)$/

/** Refuses a message that is too large with the code of the channels instead of the library's (1009). */
class GatewaySocket extends WebSocket {
  override close(code?: number, reason?: string | Buffer): void {
    super.close(code === 1009 ? closeCode.messageTooLarge : code, reason)
  }
}

type LibraryClass = NonNullable<
  NonNullable<websocket.WebsocketPluginOptions['options']>['WebSocket']
>

export async function createGateway(app: App): Promise<FastifyInstance> {
  const http = createHttp(app)
  const connections = new OpenConnections()
  await http.register(websocket, {
    options: {
      // The type of the option also has what the library adds to its own class.
      WebSocket: GatewaySocket as LibraryClass,
      maxPayload: maxFrameBytes,
      perMessageDeflate: false,
      handleProtocols,
    },
    errorHandler: (error, socket, request) => {
      request.log.warn({ err: error }, 'a gateway connection failed')
      terminateSoon(socket)
    },
    preClose: (done) => {
      connections.closeAll()
      done()
    },
  })
  const context: GatewayContext = {
    authenticate: (request, channel) => authenticateHandshake(app, request, channel),
    connections,
    timing: app.timing,
    traffic: new Traffic(app),
    metrics: app.metrics,
  }
  const feeds = new EventFeedRegistry(app)
  const activity = new ActivityFeeds(app)
  const hubs = new ScreenHubRegistry(app, activity)
  const sockets = new SessionSockets(app)
  const watch = watchAuthorization(app, connections)
  http.addHook('onClose', async () => {
    watch[Symbol.dispose]()
    feeds[Symbol.dispose]()
    hubs[Symbol.dispose]()
    activity[Symbol.dispose]()
    await sockets[Symbol.asyncDispose]()
    await context.traffic[Symbol.asyncDispose]()
  })
  addHealthRoutes(http, app)
  mountEventChannels(http, app, context, feeds)
  mountActivityChannels(http, app, context, activity)
  mountTerminalChannel(http, app, context)
  mountScreenChannel(http, app, context, { hubs, sockets })
  return http
}

/** A browser that can send neither Authorization nor the cookie offers a token as a subprotocol. */
async function authenticateHandshake(
  app: App,
  request: FastifyRequest,
  channel: Channel,
): Promise<Actor> {
  const { authorization } = request.headers
  const { session_id: sessionId } = request.query as { readonly session_id?: unknown }
  // A browser may have the cookie of a user as well: the session tells as whom it connects.
  if (channel.guests && authorization === undefined && typeof sessionId === 'string') {
    const guest = await authenticateGuestOf(app, request, sessionId)
    if (guest) return guest
  }
  const token = offeredProtocols(request).flatMap((one) => tokenProtocol.exec(one)?.[1] ?? [])[0]
  if (authorization !== undefined || token === undefined) return authenticate(app, request)
  return authenticateToken(app, request, token)
}

function offeredProtocols({ headers }: FastifyRequest): string[] {
  return (headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim())
}

/** Browsers fail the handshake unless one of the offered subprotocols is chosen. */
function handleProtocols(offered: Set<string>): string | false {
  const others = [...offered].filter((protocol) => !tokenProtocol.test(protocol))
  return others[0] ?? [...offered][0] ?? false
}
