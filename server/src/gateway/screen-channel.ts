import { channels, MachineId, SessionId } from '@computer/contract'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { App } from '../app.ts'
import { getMachine } from '../domain/find-machine.ts'
import { getOwnSession } from '../domain/control/sessions.ts'
import { mountChannel, type GatewayContext } from './channel.ts'
import type { ScreenHubRegistry } from './screen/hub-registry.ts'
import type { SessionSockets } from './screen/session-sockets.ts'

/**
 * A machine's screen as RFB, and control messages beside it. Whoever may read the machine may look;
 * input takes a session that holds the lease. While the machine does not run the connection stays open,
 * and shows the screen once it does.
 */
export function mountScreenChannel(
  http: FastifyInstance,
  app: Pick<App, 'db'>,
  context: GatewayContext,
  { hubs, sockets }: { readonly hubs: ScreenHubRegistry; readonly sockets: SessionSockets },
): void {
  mountChannel(http, context, {
    path: channels.screen,
    params: z.object({ machine_id: MachineId }),
    query: z.strictObject({ session_id: SessionId.optional() }),
    admit: async (actor, { params, query }) => {
      const { id, name } = await getMachine(app.db, actor, params.machine_id)
      const session = query.session_id && (await getOwnSession(app.db, actor, id, query.session_id))
      const mayControl = actor.permissions.has('machines:control')
      return {
        machineId: id,
        sessionId: session ? session.id : null,
        // Who only looks keeps looking when they may not control any more.
        controls: session !== undefined && session.type !== 'view' && mayControl,
        machine: { id, name, organizationId: actor.organizationId },
      }
    },
    open: (connection, { machine, sessionId }) => {
      if (sessionId) sockets.add(connection, { machineId: machine.id, sessionId })
      hubs.join(connection, machine)
    },
  })
}
