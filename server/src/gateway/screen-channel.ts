import { MachineId, SessionId } from '@computer/contract'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { App } from '../app.ts'
import { readLease } from '../domain/control/lease-row.ts'
import { requireSight } from '../domain/control/looks.ts'
import { getOwnSession } from '../domain/control/sessions.ts'
import { getMachine } from '../domain/find-machine.ts'
import { mountChannel, type GatewayContext } from './channel.ts'
import { ownerOf } from './screen/pointer-owner.ts'
import type { ScreenHubRegistry } from './screen/hub-registry.ts'
import type { SessionSockets } from './screen/session-sockets.ts'

/**
 * A machine's screen as RFB, with control messages beside it. Everyone who can read the machine can
 * watch, unless the screen is private; input needs a session that holds the lease. While the machine is not running, the connection
 * stays open and shows the screen once it runs.
 */
export function mountScreenChannel(
  http: FastifyInstance,
  app: Pick<App, 'db'>,
  context: GatewayContext,
  { hubs, sockets }: { readonly hubs: ScreenHubRegistry; readonly sockets: SessionSockets },
): void {
  mountChannel(http, context, 'screen', {
    params: z.object({ machine_id: MachineId }),
    query: z.strictObject({ session_id: SessionId.optional() }),
    admit: async (actor, { params, query, maySendInput }) => {
      const { id, name } = await getMachine(app.db, actor, params.machine_id)
      const session = query.session_id && (await getOwnSession(app.db, actor, id, query.session_id))
      requireSight(await readLease(app.db, id), actor, session ? session.id : null)
      return {
        machineId: id,
        sessionId: session ? session.id : null,
        // View-only connections survive the loss of the permission.
        sendsInput: session !== undefined && session.type !== 'view' && maySendInput,
        machine: { id, name, organizationId: actor.organizationId },
        owner: ownerOf(actor, session),
      }
    },
    open: (connection, { machine, sessionId, sendsInput, owner }) => {
      if (sessionId) sockets.add(connection, { machineId: machine.id, sessionId })
      hubs.join(connection, machine, { inputSession: sendsInput ? sessionId : null, owner })
    },
  })
}
