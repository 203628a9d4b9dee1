import { channels, type Channel } from '@computer/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { Actor } from '../actor.ts'
import { hasPermission, requirePermission } from '../domain/accounts/permissions.ts'
import type { ConnectionAuthorization } from '../domain/control/connection-authorization.ts'
import { ApiError } from '../errors.ts'
import { parse } from '../http/parse.ts'
import type { ChannelName } from '../metrics/gateway.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Timing } from '../timing.ts'
import { Connection } from './connection.ts'
import type { OpenConnections } from './open-connections.ts'
import type { Traffic } from './traffic.ts'

/** How the gateway serves a channel of the contract. */
type ChannelHandler<Params, Query, Admitted extends Admission> = {
  readonly params: z.ZodType<Params>
  readonly query: z.ZodType<Query>
  /** Runs before the handshake: an error becomes the HTTP status and the error envelope. */
  readonly admit: (
    actor: Actor,
    input: {
      readonly params: Params
      readonly query: Query
      /** The actor has what the channel requires for input. */
      readonly maySendInput: boolean
    },
  ) => Promise<Admitted>
  /** Runs right after the handshake: listeners added before its first await miss nothing. */
  readonly open: (connection: Connection, admitted: Admitted) => void | Promise<void>
}

type Admission = Pick<ConnectionAuthorization, 'machineId' | 'sessionId'> & {
  /** The connection ends when its actor loses what the channel requires for input. */
  readonly sendsInput?: boolean
}

export type GatewayContext = {
  /** Resolves the actor of a handshake from any kind of credential. */
  readonly authenticate: (request: FastifyRequest, channel: Channel) => Promise<Actor>
  readonly connections: OpenConnections
  readonly timing: Pick<Timing, 'tickMs'>
  readonly traffic: Traffic
  readonly metrics: Pick<Metrics, 'gateway'>
}

/** Serves one channel. Read `admit` to know all that happens to a handshake. */
export function mountChannel<Params, Query, Admitted extends Admission>(
  http: FastifyInstance,
  { authenticate, connections, timing, traffic, metrics }: GatewayContext,
  name: ChannelName,
  handler: ChannelHandler<Params, Query, Admitted>,
): void {
  const channel: Channel = channels[name]
  const { requires, requiresForInput } = channel
  const admissions = new WeakMap<
    FastifyRequest,
    { readonly admitted: Admitted; readonly authorization: ConnectionAuthorization }
  >()

  const admit = async (request: FastifyRequest) => {
    if (!request.ws) throw new ApiError('invalid_request', 'connect here with a WebSocket')
    const actor = await authenticate(request, channel)
    requirePermission(actor, requires)
    const admitted = await handler.admit(actor, {
      params: parse(handler.params, request.params, 'path'),
      query: parse(handler.query, request.query, 'query'),
      maySendInput: requiresForInput !== undefined && hasPermission(actor, requiresForInput),
    })
    const { machineId, sessionId, sendsInput } = admitted
    const rechecked = (sendsInput && requiresForInput) || requires
    const authorization = { actor, machineId, sessionId, requires: rechecked }
    admissions.set(request, { admitted, authorization })
  }

  http.route({
    method: 'GET',
    url: channel.path.replace(/\{(\w+)\}/g, ':$1'),
    preValidation: admit,
    handler: () => {},
    wsHandler: (socket, request) => {
      const { admitted, authorization } = admissions.get(request)!
      const { machineId, actor } = authorization
      const countServed = (bytes: number) => {
        if (machineId)
          traffic.countServed({ machineId, organizationId: actor.organizationId }, bytes)
      }
      const connection = new Connection(socket, request.raw.socket, authorization, countServed)
      connections.add(connection)
      connection.onClose(metrics.gateway.countOpen(name))
      if (channel.ticks) connection.sendTicks(timing.tickMs)
      return handler.open(connection, admitted)
    },
  })
}
