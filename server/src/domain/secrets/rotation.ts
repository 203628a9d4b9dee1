import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { SecretRow } from '../../db/database.ts'
import { keyIdOf, open, seal, type Keyring } from './keyring.ts'
import { resealAll, type Rotation } from './reseal.ts'
import { contextOf } from './sets.ts'

/**
 * Encrypts every secret of machines again with the first key of the keyring, unless it already is. Runs beside the
 * server: a secret that is replaced meanwhile is left as it is. Versions do not change, so nothing is
 * delivered to machines.
 */
export async function rotateSecrets(app: Pick<App, 'db'>, keyring: Keyring): Promise<Rotation> {
  return resealAll<SecretRow>({
    readPage: (after, limit) => readPage(app, after, limit),
    reseal: (row) => rotateOne(app, keyring, row),
    describe: ({ machine_id: machineId, name }) => `${name} of ${machineId}`,
  })
}

async function readPage(
  { db }: Pick<App, 'db'>,
  after: SecretRow | null,
  limit: number,
): Promise<SecretRow[]> {
  const { machine_id: machineId, name } = after ?? { machine_id: '', name: '' }
  return db
    .selectFrom('machine_secrets')
    .selectAll()
    .where(sql<boolean>`(machine_id, name) > (${machineId}, ${name})`)
    .orderBy('machine_id')
    .orderBy('name')
    .limit(limit)
    .execute()
}

async function rotateOne(
  { db }: Pick<App, 'db'>,
  keyring: Keyring,
  row: SecretRow,
): Promise<boolean> {
  if (keyIdOf(row.sealed).equals(keyring[0].id)) return false
  const context = contextOf(row)
  const sealed = seal(keyring, open(keyring, row.sealed, context), context)
  const { numUpdatedRows } = await db
    .updateTable('machine_secrets')
    .set({ sealed })
    .where('machine_id', '=', row.machine_id)
    .where('name', '=', row.name)
    .where('sealed', '=', row.sealed)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
