import { MachineId } from '@computer/contract'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { App } from '../app.ts'
import { readLastPosition, readLastSequence } from '../domain/events/outbox.ts'
import { getMachine } from '../domain/find-machine.ts'
import { mountChannel, type GatewayContext } from './channel.ts'
import type { EventFeedRegistry } from './event-feed-registry.ts'
import { AfterQuery, startOf, tellStart } from './feed-start.ts'

/**
 * One event per text frame, in order. A client that names the last event it received gets everything
 * after it; without one it gets what is committed from the handshake on. The first tick of an organization
 * says where that is.
 */
export function mountEventChannels(
  http: FastifyInstance,
  app: Pick<App, 'db'>,
  context: GatewayContext,
  feeds: EventFeedRegistry,
): void {
  mountChannel(http, context, 'machineEvents', {
    params: z.object({ machine_id: MachineId }),
    query: z.strictObject({ after_sequence: z.coerce.number().int().min(-1).optional() }),
    admit: async (actor, { params, query }) => {
      const machine = await getMachine(app.db, actor, params.machine_id)
      return {
        // Not bound to the machine: the feed itself closes it, after the machine's last event.
        machineId: null,
        followedId: machine.id,
        sessionId: null,
        organizationId: machine.organization_id,
        after: query.after_sequence ?? (await readLastSequence(app.db, machine.id)),
      }
    },
    open: (connection, { followedId: machineId, organizationId, after }) =>
      feeds.followMachine(connection, { organizationId, machineId }, after),
  })

  mountChannel(http, context, 'organizationEvents', {
    params: z.object({}),
    query: AfterQuery,
    admit: async (actor, { query }) => ({
      machineId: null,
      sessionId: null,
      organizationId: actor.organizationId,
      after: await startOf(query.after, () => readLastPosition(app.db)),
    }),
    open: (connection, { organizationId, after }) => {
      tellStart(connection, after)
      return feeds.followOrganization(connection, organizationId, after)
    },
  })
}
