import { sql } from 'kysely'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import type { Database, Tx } from '../../db/database.ts'

/**
 * Makes rows that were restored from a backup true of the present host: nothing runs on it, nobody works on a row, no
 * machine is warm, and images are where this host builds them. What ran starts again as after a restart of the host.
 */
export async function settleRestored(
  tx: Tx,
  { imageCacheDir }: Pick<Config, 'imageCacheDir'>,
): Promise<void> {
  const warm = await tx.deleteFrom('warm_machines').returning('uid_slot').execute()
  const slots = warm.map((row) => row.uid_slot)
  if (slots.length > 0) {
    await tx.updateTable('uid_slots').set({ machine_id: null }).where('slot', 'in', slots).execute()
  }
  // They were to wake an instance that waited frozen.
  await tx.updateTable('machines').set({ is_frozen: false }).where('is_frozen', '=', true).execute()
  await clearClaims(tx)
  await tx
    .updateTable('duties')
    .set({ host: null, held_until: sql`now()` })
    .execute()
  // No boot of any host has this id, so the worker notices that the machines no longer run.
  const unknown = { boot_id: 'restored from a backup', images: [] }
  await tx.updateTable('hosts').set(unknown).execute()
  for (const { id, recipe_hash } of await tx
    .selectFrom('images')
    .select(['id', 'recipe_hash'])
    .execute()) {
    const folder = join(imageCacheDir, recipe_hash)
    await tx
      .updateTable('images')
      .set({
        metadata_path: join(folder, 'metadata.tar'),
        rootfs_path: join(folder, 'rootfs.tar.zst'),
      })
      .where('id', '=', id)
      .execute()
  }
}

async function clearClaims(tx: Tx): Promise<void> {
  const { rows } = await sql<{ table_name: string }>`
    select table_name from information_schema.columns
    where table_schema = current_schema() and column_name = 'claimed_by'`.execute(tx)
  for (const { table_name: table } of rows) {
    await sql`update ${sql.table(table)} set claimed_by = null, claimed_until = null
      where claimed_by is not null`.execute(tx)
  }
}

/** The machines whose disks are to be made, by id. */
export async function listRestoredMachines(db: Database) {
  const rows = await db
    .selectFrom('machines')
    .selectAll()
    .where('deleted_at', 'is', null)
    .where('state', '!=', 'deleting')
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}
