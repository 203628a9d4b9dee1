import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { ActivityId, MachineId, OrganizationId, SessionId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { text, Timestamp } from './text.ts'

export const Activity = z
  .object({
    id: ActivityId,
    organization_id: OrganizationId,
    machine_id: MachineId,
    type: z
      .string()
      .describe(
        'What was done, such as command.run. New types may appear: ignore those that you do not know.',
      ),
    actor: z
      .object({
        type: z.enum(['user', 'api_key', 'guest', 'system']),
        id: z.string(),
        name: z.string(),
      })
      .nullable()
      .describe(
        'Who did it: a user, an API key, the guest of a help request, or the server itself.',
      ),
    session_id: SessionId.nullable(),
    data: z
      .record(z.string(), z.unknown())
      .describe('Details that depend on the type. Typed text is told by its length alone.'),
    occurred_at: Timestamp,
  })
  .meta({ id: 'Activity' })
export type Activity = z.infer<typeof Activity>

/** Longer types match nothing. */
const ActivityTypeFilter = text(64, 1)

export const activity = {
  list: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}/activity',
    summary:
      'List what was done with a machine in the last 30 days, newest first: input, commands, files, previews, secrets.',
    requires: 'member',
    params: z.object({ machine_id: MachineId }),
    query: PageQuery.extend({
      type: z
        .union([ActivityTypeFilter, z.array(ActivityTypeFilter).max(32)])
        .optional()
        .describe('Lists only activity of this type, or of these: type=A&type=B.'),
    }),
    status: 200,
    response: pageOf(Activity),
  }),
}
