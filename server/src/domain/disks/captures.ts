import type { CaptureId } from '@computer/contract'
import { sql } from 'kysely'
import type { CaptureRow, Database, MachineRow, Tx } from '../../db/database.ts'
import { newId } from '../../ids.ts'

/*
 * A capture is a copy of a machine's disk. Snapshots, templates, forks and restores are rows that
 * name one; it is made once, shared by all of them, and goes when nobody names it any more.
 *
 * It is a row that the worker makes true. `pending`: still to be made, under the claim of its machine
 * and before the machine's own next step, so that whatever was asked of the machine later finds it
 * made. `ready`, or `error` with the reason. `deleting`: nobody names it, and its copy in the engine
 * goes.
 *
 * The capture's lock is what orders those who begin and cease to name it: `holdCapture` before a row
 * names one that is there, `releaseCapture` after a row ceased to. Locks are taken in the order
 * organization, input lease, machine, capture.
 */

/** Asks for the disk of a machine as it is from now on. The machine is locked. */
export async function insertCapture(
  tx: Tx,
  machine: MachineRow,
  options: { readonly beforeRestore?: boolean } = {},
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
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function getCapture(db: Database, id: CaptureId): Promise<CaptureRow> {
  return db.selectFrom('captures').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}

/** Keeps a capture until the end of the transaction, so that another row may name it. */
export async function holdCapture(tx: Tx, id: CaptureId): Promise<CaptureRow | undefined> {
  return tx.selectFrom('captures').selectAll().where('id', '=', id).forShare().executeTakeFirst()
}

/**
 * To be called by whoever ceased to name a capture, in the same transaction. One that nobody names
 * any more is deleted; one that is still being made is looked at again when it is done.
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
  /** As it was before. */
  readonly capture: CaptureRow
  /** A snapshot or a template names it, so its bytes are somebody's. */
  readonly isKept: boolean
  /** Somebody does, be it a machine whose disk is being made from it. */
  readonly isNamed: boolean
}

async function findNames(tx: Tx, id: CaptureId) {
  const { rows } = await sql<{ isKept: boolean; isUsed: boolean }>`select
    exists (select from snapshots where capture_id = ${id} and deleted_at is null)
      or exists (select from templates where capture_id = ${id}) as "isKept",
    exists (
      select from machines
      where (base_capture_id = ${id} or restore_capture_id = ${id}) and deleted_at is null
    ) as "isUsed"`.execute(tx)
  return rows[0]!
}
