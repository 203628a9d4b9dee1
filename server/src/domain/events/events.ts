import type { MachineEventType, MachineId, MachineState, SessionId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { Database, EventRow, MachineRow, Tx } from '../../db/database.ts'
import type { EventFacts } from '../../db/tables/attribution.ts'
import { newId } from '../../ids.ts'
import { notFound } from '../../errors.ts'
import { getMachine } from '../find-machine.ts'
import { captureFacts, machineFacts, meterEvent, type MeteredCapture } from './meter-intervals.ts'
import { pageByKey, type PageRequest } from '../page.ts'

export type EventDetail = {
  readonly type: MachineEventType
  readonly sessionId?: SessionId | null
  readonly from?: MachineState | null
  readonly to?: MachineState | null
  readonly message?: string | null
  /** The machine's size changed. */
  readonly resized?: boolean
  /** The machine's labels changed. */
  readonly relabeled?: boolean
  /**
   * With snapshot.completed: a capture that is kept from now on. With snapshot.deleted: a capture that
   * no snapshot and no template names any more. With snapshot.failed: one that is lost.
   */
  readonly capture?: MeteredCapture
}

/** Appends an event without a state change. The machine's row assigns the sequence. */
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

/**
 * Inserts the event whose sequence the row now has, and updates the meters. Times have milliseconds, as
 * clients see them, never decrease within a log, and never fall into a billing period that has ended.
 */
export async function insertEvent(tx: Tx, machine: MachineRow, detail: EventDetail): Promise<void> {
  const facts = factsOf(machine, detail)
  const before = tx
    .selectFrom('machine_events')
    .select('occurred_at')
    .where('machine_id', '=', machine.id)
    .where('sequence', '=', machine.event_sequence - 1)
  const closed = tx
    .selectFrom('billing_accounts')
    .select('closed_through')
    .where('organization_id', '=', machine.organization_id)
  const event = await tx
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
      occurred_at: sql`date_trunc('milliseconds', greatest(clock_timestamp(), ${before}, ${closed}))`,
      facts: facts && (JSON.stringify(facts) as never),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  await meterEvent(tx, event)
}

function factsOf(
  machine: MachineRow,
  { to, resized, relabeled, capture }: EventDetail,
): EventFacts | null {
  if (capture) return captureFacts(machine, capture)
  if (to || resized) return machineFacts(machine)
  // A disk that is resized gets the new labels, and a machine that is resized does not run.
  return relabeled ? { relabeled, labels: machine.labels } : null
}

export type EventFilter = PageRequest & {
  readonly type?: MachineEventType | readonly MachineEventType[] | undefined
}

/** A machine's event log, newest first. */
export async function listEvents(db: Database, actor: Actor, id: MachineId, filter: EventFilter) {
  await getMachine(db, actor, id)
  const types = filter.type === undefined ? null : [filter.type].flat()
  return pageByKey(
    filter,
    /^\d{1,9}$/,
    (event: EventRow) => String(event.sequence),
    (before, count) =>
      db
        .selectFrom('machine_events')
        .selectAll()
        .where('organization_id', '=', actor.organizationId)
        .where('machine_id', '=', id)
        .$if(types !== null, (query) => query.where('type', 'in', types!))
        .$if(before !== null, (query) => query.where('sequence', '<', Number(before)))
        .orderBy('sequence', 'desc')
        .limit(count)
        .execute(),
  )
}
