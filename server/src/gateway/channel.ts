import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { Actor } from '../actor.ts'
import type { ConnectionAuthorization } from '../domain/control/connection-authorization.ts'
import { ApiError } from '../errors.ts'
import { parse } from '../http/parse.ts'
import { Connection } from './connection.ts'
import type { OpenConnections } from './open-connections.ts'

/** A channel of the gateway: what a WebSocket at its path is for. */
export type Channel<Params, Query, Admitted extends Admission> = {
  /** As in the contract, with {parameters}. */
  readonly path: string
  readonly params: z.ZodType<Params>
  readonly query: z.ZodType<Query>
  /** Before the handshake: what it throws is answered as the HTTP status and the error envelope. */
  readonly admit: (
    actor: Actor,
    input: { readonly params: Params; readonly query: Query },
  ) => Promise<Admitted>
  /** Right after the handshake: listeners that are added here, before any wait, miss nothing. */
  readonly open: (connection: Connection, admitted: Admitted) => void | Promise<void>
}

export type Admission = Omit<ConnectionAuthorization, 'actor'>

export type GatewayContext = {
  /** The actor behind a handshake, by whichever credential it came with. */
  readonly authenticate: (request: FastifyRequest) => Promise<Actor>
  readonly connections: OpenConnections
}

export function mountChannel<Params, Query, Admitted extends Admission>(
  http: FastifyInstance,
  { authenticate, connections }: GatewayContext,
  channel: Channel<Params, Query, Admitted>,
): void {
  const entered = new WeakMap<FastifyRequest, { actor: Actor; admitted: Admitted }>()
  http.route({
    method: 'GET',
    url: channel.path.replace(/\{(\w+)\}/g, ':$1'),
    preValidation: async (request) => {
      if (!request.ws) throw new ApiError('invalid_request', 'connect here with a WebSocket')
      const actor = await authenticate(request)
      const params = parse(channel.params, request.params, 'path')
      const query = parse(channel.query, request.query, 'query')
      entered.set(request, { actor, admitted: await channel.admit(actor, { params, query }) })
    },
    handler: () => {},
    wsHandler: (socket, request) => {
      const { actor, admitted } = entered.get(request)!
      const { machineId, sessionId, controls } = admitted
      const authorization = { actor, machineId, sessionId, controls }
      const connection = new Connection(socket, request.raw.socket, authorization)
      connections.add(connection)
      return channel.open(connection, admitted)
    },
  })
}
