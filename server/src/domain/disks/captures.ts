import type { CaptureId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { CaptureRow, Database, MachineRow, Tx } from '../../db/database.ts'
import { newId } from '../../ids.ts'
import { capturedBy } from '../events/attribution.ts'

/*
 * A capture is a copy of a machine's disk. Snapshots, templates, forks and restores are rows that name
 * a capture; it is made once, shared by all of them, and removed when no row names it any more.
 *
 * The worker makes the engine match the row. A `pending` capture is made under the claim of its machine
 * and before the machine's own next step, so that later requests find it made. It becomes `ready`, or
 * `error` with the reason. In `deleting` no row names it, and its copy in the engine is removed.
 *
 * The lock of the capture orders the transactions that add and remove names: call `holdCapture` before
 * a row names an existing capture, and `releaseCapture` after a row ceased to. Locks are taken in the
 * order organization, input lease, machine, capture.
 */

/** Requests a capture of the disk of a locked machine. Without an actor it is an automatic one. */
export async function insertCapture(
  tx: Tx,
  machine: MachineRow,
  options: { readonly beforeRestore?: boolean; readonly actor?: Actor | undefined } = {},
): Promise<CaptureRow> {
  return tx
    .insertInto('captures')
    .values({
      id: newId('cap'),
      organization_id: machine.organization_id,
      machine_id: machine.id,
      generation: machine.generation,
      image_id: machine.image_id,
      disk_gb: machine.disk_gb,
      state: 'pending',
      created_at: sql<Date>`clock_timestamp()`,
      before_restore: options.beforeRestore ?? false,
      ...(options.actor && capturedBy(options.actor)),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function getCapture(db: Database, id: CaptureId): Promise<CaptureRow> {
  return db.selectFrom('captures').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}

/** Keeps a capture from being removed until the end of the transaction, so that a row can name it. */
export async function holdCapture(tx: Tx, id: CaptureId): Promise<CaptureRow | undefined> {
  return tx.selectFrom('captures').selectAll().where('id', '=', id).forShare().executeTakeFirst()
}

/**
 * Must be called in the transaction in which a row ceases to name a capture. An unnamed capture goes to
 * `deleting`; a pending one is checked again when it is made.
 */
export async function releaseCapture(tx: Tx, id: CaptureId): Promise<Released> {
  const capture = await tx
    .selectFrom('captures')
    .selectAll()
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
  const { isKept, isUsed } = await findNames(tx, id)
  const isNamed = isKept || isUsed
  if (!isNamed && (capture.state === 'ready' || capture.state === 'error')) {
    await tx
      .updateTable('captures')
      .set({ state: 'deleting', attempts: 0, next_attempt_at: sql<Date>`clock_timestamp()` })
      .where('id', '=', id)
      .execute()
  }
  return { capture, isKept, isNamed }
}

export type Released = {
  /** The row as it was before the call. */
  readonly capture: CaptureRow
  /** A snapshot or a template names it, so its bytes are metered. */
  readonly isKept: boolean
  /** Any row names it, including a machine whose disk is being made from it. */
  readonly isNamed: boolean
}

async function findNames(tx: Tx, id: CaptureId) {
  const { rows } = await sql<{ isKept: boolean; isUsed: boolean }>`select
    exists (select from snapshots where capture_id = ${id} and deleted_at is null)
      or exists (select from templates where capture_id = ${id}) as "isKept",
    exists (
      select from machines
      where (base_capture_id = ${id} or restore_capture_id = ${id}) and deleted_at is null
    ) or exists (
      select from relocations where capture_id = ${id} or earlier_capture_id = ${id}
    ) as "isUsed"`.execute(tx)
  return rows[0]!
}
