import type { MachineId, OrganizationId, SessionId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { ActivityRow, Database } from '../../db/database.ts'
import { storableJson } from '../../db/storable-json.ts'
import { firstIdAt, newId } from '../../ids.ts'
import { getMachine } from '../find-machine.ts'
import { newestFirst, type PageRequest } from '../page.ts'

/** Somebody who acts: a user, an API key, the guest of a help request, the server itself. */
type ActivityActor = {
  readonly type: NonNullable<ActivityRow['actor_type']>
  readonly id: string
  readonly name: string
}

export type NewActivity = {
  readonly organizationId: OrganizationId
  readonly machineId: MachineId
  readonly type: string
  readonly actor: ActivityActor | null
  readonly sessionId?: SessionId | null | undefined
  /** Never typed text, and no secret. */
  readonly data: Readonly<Record<string, unknown>>
}

/** What is inserted. Its id and its time are those of the moment when it happened. */
export function activityRow(activity: NewActivity) {
  const { actor } = activity
  return {
    id: newId('act'),
    organization_id: activity.organizationId,
    machine_id: activity.machineId,
    type: activity.type,
    actor_type: actor?.type ?? null,
    actor_id: actor?.id ?? null,
    actor_name: actor?.name ?? null,
    session_id: activity.sessionId ?? null,
    data: storableJson(activity.data),
    occurred_at: new Date(),
  }
}

/** Pass the transaction of a change that must not be without it. */
export async function insertActivity(
  db: Database,
  rows: readonly ReturnType<typeof activityRow>[],
): Promise<void> {
  const all = <Key extends keyof (typeof rows)[number]>(key: Key) => rows.map((row) => row[key])
  await sql`
    insert into activity (
      id, organization_id, machine_id, type, actor_type, actor_id, actor_name, session_id, data, occurred_at
    )
    select * from unnest(
      ${all('id')}::text[], ${all('organization_id')}::text[], ${all('machine_id')}::text[], ${all('type')}::text[],
      ${all('actor_type')}::text[], ${all('actor_id')}::text[], ${all('actor_name')}::text[],
      ${all('session_id')}::text[], ${all('data')}::jsonb[], ${all('occurred_at')}::timestamptz[]
    )`.execute(db)
}

export type ActivityFilter = PageRequest & {
  readonly type?: string | readonly string[] | undefined
}

/** What was done with a machine, newest first. */
export async function listActivity(
  db: Database,
  actor: Actor,
  id: MachineId,
  filter: ActivityFilter,
) {
  await getMachine(db, actor, id)
  const types = filter.type === undefined ? null : [filter.type].flat()
  const rows = db
    .selectFrom('activity')
    .selectAll()
    .where('organization_id', '=', actor.organizationId)
    .where('machine_id', '=', id)
    .$if(types !== null, (query) => query.where('type', 'in', types!))
  return newestFirst('act', filter, rows)
}

const keptMs = 30 * 86_400_000
const sweepBatch = 5_000

/** Deletes what is older than 30 days. */
export async function sweepActivity(db: Database): Promise<void> {
  const old = db
    .selectFrom('activity')
    .select('id')
    .where('id', '<', firstIdAt('act', Date.now() - keptMs))
    .limit(sweepBatch)
  for (;;) {
    const { numDeletedRows } = await db
      .deleteFrom('activity')
      .where('id', 'in', old)
      .executeTakeFirstOrThrow()
    if (numDeletedRows < BigInt(sweepBatch)) return
  }
}
