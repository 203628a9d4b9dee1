import { MachineId } from '@computer/contract'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { App } from '../app.ts'
import type { ActivityRow } from '../db/database.ts'
import { getMachine } from '../domain/find-machine.ts'
import { encodeCursor } from '../domain/page.ts'
import { showActivity } from '../domain/activity/show-activity.ts'
import type { ActivityFeeds } from './activity-feeds.ts'
import { mountChannel, type GatewayContext } from './channel.ts'
import type { Connection } from './connection.ts'
import { sendTo } from './connection-reader.ts'
import { AfterQuery, startOf, tellStart } from './feed-start.ts'

/**
 * What is done with a machine, or with any of an organization, one entry per text frame with its cursor, in order. A client that names the last cursor
 * it received gets everything after it; without one it gets what is placed from the handshake on. The first tick
 * says where that is.
 */
export function mountActivityChannels(
  http: FastifyInstance,
  app: Pick<App, 'db'>,
  context: GatewayContext,
  feeds: ActivityFeeds,
): void {
  const readLast = () => feeds.readLast()

  mountChannel(http, context, 'machineActivity', {
    params: z.object({ machine_id: MachineId }),
    query: AfterQuery,
    admit: async (actor, { params, query }) => {
      const { id: machineId } = await getMachine(app.db, actor, params.machine_id)
      const { organizationId } = actor
      return {
        machineId,
        sessionId: null,
        organizationId,
        after: await startOf(query.after, readLast),
      }
    },
    open: (connection, { machineId, organizationId, after }) => {
      tellStart(connection, after)
      return feeds.followMachine(sendEntriesTo(connection), { machineId, organizationId }, after)
    },
  })

  mountChannel(http, context, 'organizationActivity', {
    params: z.object({}),
    query: AfterQuery,
    admit: async ({ organizationId }, { query }) => ({
      machineId: null,
      sessionId: null,
      organizationId,
      after: await startOf(query.after, readLast),
    }),
    open: (connection, { organizationId, after }) => {
      tellStart(connection, after)
      return feeds.followOrganization(sendEntriesTo(connection), organizationId, after)
    },
  })
}

function sendEntriesTo(connection: Connection) {
  return sendTo<ActivityRow>(connection, {
    show: (row) => ({ ...showActivity(row), cursor: encodeCursor(String(row.position)) }),
  })
}
