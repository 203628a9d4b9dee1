import { channels, MachineId } from '@computer/contract'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { App } from '../app.ts'
import { readLastPosition, readLastSequence } from '../domain/events/outbox.ts'
import { getMachine } from '../domain/find-machine.ts'
import { decode } from '../domain/page.ts'
import { mountChannel, type GatewayContext } from './channel.ts'
import type { EventFeedRegistry } from './event-feed-registry.ts'

/**
 * One event a text frame, in order. Whoever names the last one it had gets everything after it; whoever
 * names none gets what is committed from the handshake on.
 */
export function mountEventChannels(
  http: FastifyInstance,
  app: App,
  context: GatewayContext,
  feeds: EventFeedRegistry,
): void {
  mountChannel(http, context, {
    path: channels.machineEvents,
    params: z.object({ machine_id: MachineId }),
    query: z.strictObject({ after_sequence: z.coerce.number().int().min(-1).optional() }),
    admit: async (actor, { params, query }) => {
      const machine = await getMachine(app.db, actor, params.machine_id)
      return {
        // The feed ends with the machine's last event, not before it.
        machineId: null,
        followedId: machine.id,
        sessionId: null,
        controls: false,
        organizationId: machine.organization_id,
        after: query.after_sequence ?? (await readLastSequence(app.db, machine.id)),
      }
    },
    open: (connection, { followedId: machineId, organizationId, after }) =>
      feeds.followMachine(connection, { organizationId, machineId }, after),
  })

  mountChannel(http, context, {
    path: channels.organizationEvents,
    params: z.object({}),
    query: z.strictObject({ after: z.string().min(1).max(100).optional() }),
    admit: async (actor, { query }) => ({
      machineId: null,
      sessionId: null,
      controls: false,
      organizationId: actor.organizationId,
      after:
        query.after === undefined
          ? await readLastPosition(app.db)
          : Number(decode(query.after, /^\d{1,15}$/)),
    }),
    open: (connection, { organizationId, after }) =>
      feeds.followOrganization(connection, organizationId, after),
  })
}
