import { channels, MachineId } from '@computer/contract'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { App } from '../app.ts'
import type { ActivityRow } from '../db/database.ts'
import { readLastActivity, readActivityAfter } from '../domain/activity/outbox.ts'
import { getMachine } from '../domain/find-machine.ts'
import { encodeCursor } from '../domain/page.ts'
import { showActivity } from '../domain/activity/show-activity.ts'
import { mountChannel, type GatewayContext } from './channel.ts'
import type { Connection } from './connection.ts'
import { FeedMap } from './feed-map.ts'
import { AfterQuery, startOf, tellStart } from './feed-start.ts'

/**
 * What is done with a machine, or with any of an organization, one entry per text frame with its cursor, in order. A client that names the last cursor
 * it received gets everything after it; without one it gets what is placed from the handshake on. The first tick
 * says where that is. The result ends the feeds.
 */
export function mountActivityChannels(
  http: FastifyInstance,
  app: Pick<App, 'db' | 'changes' | 'log'>,
  context: GatewayContext,
): Disposable {
  const feeds = new FeedMap<ActivityRow>(app)
  // The organization is named, and its machines that are followed are few.
  const unsubscribe = app.changes.subscribe(() => feeds.wakeAll(), 'activity')

  const readLast = () => readLastActivity(app.db)

  const follow = (connection: Connection, where: Where, after: number) => {
    tellStart(connection, after)
    return feeds.follow(where.machineId ?? where.organizationId, connection, after, {
      read: (from, limit) => readActivityAfter(app.db, where, from, limit),
      cursorOf: (row) => row.position!,
      isLast: () => false,
      show: (row) => ({ ...showActivity(row), cursor: encodeCursor(String(row.position)) }),
    })
  }

  mountChannel(http, context, channels.machineActivity, {
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
    open: (connection, { machineId, organizationId, after }) =>
      follow(connection, { machineId, organizationId }, after),
  })

  mountChannel(http, context, channels.organizationActivity, {
    params: z.object({}),
    query: AfterQuery,
    admit: async ({ organizationId }, { query }) => ({
      machineId: null,
      sessionId: null,
      organizationId,
      after: await startOf(query.after, readLast),
    }),
    open: (connection, { organizationId, after }) =>
      follow(connection, { machineId: null, organizationId }, after),
  })

  return {
    [Symbol.dispose]() {
      unsubscribe()
      feeds[Symbol.dispose]()
    },
  }
}

type Where = Parameters<typeof readActivityAfter>[1]
