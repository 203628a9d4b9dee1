import type { MachineEventType, MachineId, SessionId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../actor.ts'
import type { Database, MachineRow, Tx } from '../db/database.ts'
import { newId } from '../ids.ts'
import { notFound } from '../errors.ts'
import { getMachine } from './find-machine.ts'
import { pageByNumber, type PageRequest } from './page.ts'

export type EventDetail = {
  readonly type: MachineEventType
  readonly sessionId?: SessionId | null
  readonly from?: string | null
  readonly to?: string | null
  readonly message?: string | null
}

/** Adds an event that belongs to no change of state. The machine's row gives the sequence. */
export async function appendEvent(tx: Tx, id: MachineId, detail: EventDetail): Promise<void> {
  const machine = await tx
    .updateTable('machines')
    .set({ event_sequence: sql`event_sequence + 1` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  if (!machine) throw notFound(`machine ${id}`)
  await insertEvent(tx, machine, detail)
}

/** Writes the event that took the sequence the row now has. */
export async function insertEvent(tx: Tx, machine: MachineRow, detail: EventDetail): Promise<void> {
  await tx
    .insertInto('machine_events')
    .values({
      id: newId('evt'),
      organization_id: machine.organization_id,
      machine_id: machine.id,
      session_id: detail.sessionId ?? null,
      type: detail.type,
      from_state: detail.from ?? null,
      to_state: detail.to ?? null,
      message: detail.message ?? null,
      sequence: machine.event_sequence,
    })
    .execute()
}

/** A machine's event log, newest first. */
export async function listEvents(db: Database, actor: Actor, id: MachineId, page: PageRequest) {
  await getMachine(db, actor, id)
  return pageByNumber(page, (before, count) =>
    db
      .selectFrom('machine_events')
      .selectAll()
      .where('organization_id', '=', actor.organizationId)
      .where('machine_id', '=', id)
      .$if(before !== null, (query) => query.where('sequence', '<', before!))
      .orderBy('sequence', 'desc')
      .limit(count)
      .execute(),
  )
}
