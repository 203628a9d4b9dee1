import type { CaptureId } from '@computer/contract'
import { sql, type RawBuilder } from 'kysely'
import type { App } from '../../app.ts'
import type { CaptureCopyRow, Database, Tx } from '../../db/database.ts'
import type { Transfer } from '../../drivers/machine-driver.ts'
import { claimDue, inMs } from '../claims.ts'
import { hasCapture } from '../hosts/placement.ts'

/*
 * The copies of a capture, one for each host that has it. A machine is made from the copy of its host. Where there is
 * none, the copy is `wanted`: the worker of the host gets it from another one, and the machine waits for it.
 */

/** Has a copy made on the host, if it has none. */
export async function wantCopy(db: Database, id: CaptureId, host: string): Promise<void> {
  await db
    .insertInto('capture_copies')
    .values({ capture_id: id, host, state: 'wanted' })
    .onConflict((known) => known.columns(['capture_id', 'host']).doNothing())
    .execute()
}

/** The host has a copy. */
export async function recordCopy(tx: Tx, id: CaptureId, host: string): Promise<void> {
  await tx
    .insertInto('capture_copies')
    .values({ capture_id: id, host })
    .onConflict((known) => known.columns(['capture_id', 'host']).doUpdateSet({ state: 'ready' }))
    .execute()
}

/** For a capture that could not be made: whoever waits for a copy of it waits no longer. */
export async function forgetCopies(tx: Tx, id: CaptureId): Promise<void> {
  await tx.deleteFrom('capture_copies').where('capture_id', '=', id).execute()
}

/** Claims up to `limit` copies that this host is to get and can get now. */
export async function claimWantedCopies(
  app: Pick<App, 'db' | 'timing' | 'config'>,
  workerId: string,
  limit: number,
): Promise<CaptureCopyRow[]> {
  const due = app.db
    .selectFrom('capture_copies')
    .innerJoin('captures', 'captures.id', 'capture_copies.capture_id')
    .select('capture_copies.id')
    .where('capture_copies.host', '=', app.config.host)
    .where('capture_copies.state', '=', 'wanted')
    .where('captures.state', '=', 'ready')
    .where('capture_copies.next_attempt_at', '<=', sql<Date>`clock_timestamp()`)
    .orderBy('capture_copies.next_attempt_at')
  return claimDue(app, 'capture_copies', due, { workerId, limit })
}

/** Whether a host that answers has the capture, or will have made it. */
export async function isWithinReach(db: Database, id: CaptureId): Promise<boolean> {
  const { rows } = await sql`
    select from hosts where unhealthy_reason is null and ${hasCapture(id)} limit 1`.execute(db)
  return rows.length > 0
}

/** A query for the ids of the complete captures that no other host has. */
export function capturesOnlyOn(host: string): RawBuilder<{ readonly id: CaptureId }> {
  return sql`
    select c.id
    from capture_copies own join captures c on c.id = own.capture_id
    where own.host = ${host} and own.state = 'ready' and c.state = 'ready'
      and not exists (
        select from capture_copies other
        where other.capture_id = c.id and other.host != ${host} and other.state = 'ready'
      )`
}

export type CopySource = Transfer & { readonly host: string }

/**
 * A healthy host that has the capture, and what both hosts have already: the latest capture of the same disk, or else
 * the image. Undefined while no such host has it.
 */
export async function findCopySource(
  db: Database,
  { capture_id: id, host: target }: CaptureCopyRow,
): Promise<CopySource | undefined> {
  const { rows } = await sql<CopySource>`
    select * from (
      select source.host, c.image_id as "imageId", (
        select other.id
        from captures other
          join capture_copies there on there.capture_id = other.id
          join capture_copies here on here.capture_id = other.id
        where other.machine_id = c.machine_id and other.generation = c.generation
          and other.id != c.id and other.state = 'ready'
          and there.host = source.host and there.state = 'ready'
          and here.host = ${target} and here.state = 'ready'
        order by other.created_at desc
        limit 1
      ) as base
      from captures c
        join capture_copies source on source.capture_id = c.id
        join hosts on hosts.name = source.host
      where c.id = ${id} and c.state = 'ready'
        and source.state = 'ready' and hosts.unhealthy_reason is null
    ) as sources
    order by base is null, host
    limit 1`.execute(db)
  return rows[0]
}

/** Whether the copy that was made is still wanted. If so, the machines that waited for it are due. */
export async function completeCopy(
  app: Pick<App, 'db' | 'changes'>,
  { id, capture_id: captureId, host }: CaptureCopyRow,
): Promise<boolean> {
  const { numUpdatedRows } = await app.db
    .updateTable('capture_copies')
    .set({ state: 'ready' })
    .where('id', '=', id)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  const waiting = await app.db
    .selectFrom('machines')
    .select('id')
    .where('host', '=', host)
    .where('deleted_at', 'is', null)
    .where((eb) =>
      eb.or([eb('base_capture_id', '=', captureId), eb('restore_capture_id', '=', captureId)]),
    )
    .execute()
  for (const machine of waiting) app.changes.publish(machine.id)
  return true
}

/** Schedules the next try of a copy that could not be made. */
export async function postponeCopy(
  app: Pick<App, 'db'>,
  id: string,
  delayMs: number,
): Promise<void> {
  await app.db
    .updateTable('capture_copies')
    .set({ attempts: sql`attempts + 1`, next_attempt_at: inMs(delayMs) })
    .where('id', '=', id)
    .where('state', '=', 'wanted')
    .execute()
}

/** For a copy that cannot be made: a machine that waits for it fails. */
export async function giveUpCopy(app: Pick<App, 'db'>, id: string): Promise<void> {
  await app.db
    .deleteFrom('capture_copies')
    .where('id', '=', id)
    .where('state', '=', 'wanted')
    .execute()
}
