import type { CaptureId, ImageId, MachineId } from '@computer/contract'
import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'

/** The rows of a moment that have disks. */
export type DiskRows = {
  readonly machines: readonly MachineDiskRow[]
  readonly captures: readonly { readonly id: CaptureId; readonly image_id: ImageId }[]
  /** The images that these disks, templates or new machines need. */
  readonly images: readonly ImageId[]
}

export type MachineDiskRow = {
  readonly id: MachineId
  readonly generation: number
  readonly image_id: ImageId
  /** It has booted or stopped. One whose creation is under way or failed may have no disk. */
  readonly has_disk: boolean
}

/** Reads the moment that a transaction has exported as `snapshot` (db/dump.ts). */
export async function readDiskRows(db: Database, snapshot: string): Promise<DiskRows> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (tx) => {
      await sql`set transaction snapshot ${sql.lit(snapshot)}`.execute(tx)
      const machines = await tx
        .selectFrom('machines')
        .select(['id', 'generation', 'image_id'])
        .select(
          sql<boolean>`state <> 'creating' and (started_at is not null or stopped_at is not null)`.as(
            'has_disk',
          ),
        )
        .where('deleted_at', 'is', null)
        .where('state', '!=', 'deleting')
        .orderBy('id')
        .execute()
      const captures = await tx
        .selectFrom('captures')
        .select(['id', 'image_id'])
        .where('state', '=', 'ready')
        .orderBy('id')
        .execute()
      const templates = await tx.selectFrom('templates').select('image_id').execute()
      const defaults = await tx
        .selectFrom('images')
        .select('id as image_id')
        .where('is_default', '=', true)
        .execute()
      const needed = [...machines, ...captures, ...templates, ...defaults]
      return { machines, captures, images: [...new Set(needed.map((row) => row.image_id))].sort() }
    })
}

/** The hosts of the server that have disks, and why one does not answer for them, if it does not. */
export async function listDiskHosts(
  db: Database,
): Promise<readonly { readonly name: string; readonly unhealthy_reason: string | null }[]> {
  return db
    .selectFrom('hosts')
    .select(['name', 'unhealthy_reason'])
    .where('state', 'not in', ['removed', 'lost'])
    .where('seen_at', 'is not', null)
    .orderBy('name')
    .execute()
}
