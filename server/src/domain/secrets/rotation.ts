import type { MachineId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { SecretRow } from '../../db/database.ts'
import { keyIdOf, open, seal, Unopenable, type Keyring } from './keyring.ts'
import { contextOf } from './sets.ts'

export type Rotation = {
  /** Encrypted anew. */
  readonly rotated: number
  /** Those that no key of the keyring opens, and why. */
  readonly unopened: readonly Unopened[]
}
type Unopened = { readonly machine_id: MachineId; readonly name: string; readonly reason: string }

const pageSize = 100

/**
 * Encrypts every secret that another key encrypted anew, under the first key of the keyring. The
 * server goes on meanwhile: what is replaced while it is under way is new already, and is left as it
 * is. Machines notice nothing, since versions stay what they are.
 */
export async function rotateSecrets(app: Pick<App, 'db'>, keyring: Keyring): Promise<Rotation> {
  for (let rotated = 0; ;) {
    const pass = await rotateAll(app, keyring)
    rotated += pass.rotated
    // Whoever read the keyring just before the key came into it may have stored something since.
    if (pass.rotated === 0) return { ...pass, rotated }
  }
}

async function rotateAll(app: Pick<App, 'db'>, keyring: Keyring): Promise<Rotation> {
  let rotated = 0
  const unopened: Unopened[] = []
  for (let after: Position = ['', '']; ;) {
    const rows = await readPage(app, after)
    for (const row of rows) {
      after = [row.machine_id, row.name]
      if (keyIdOf(row.sealed).equals(keyring[0].id)) continue
      try {
        if (await rotateOne(app, keyring, row)) rotated += 1
      } catch (error) {
        if (!(error instanceof Unopenable)) throw error
        unopened.push({ machine_id: row.machine_id, name: row.name, reason: error.message })
      }
    }
    if (rows.length < pageSize) return { rotated, unopened }
  }
}

type Position = readonly [machineId: string, name: string]

async function readPage(
  { db }: Pick<App, 'db'>,
  [machineId, name]: Position,
): Promise<SecretRow[]> {
  return db
    .selectFrom('machine_secrets')
    .selectAll()
    .where(sql<boolean>`(machine_id, name) > (${machineId}, ${name})`)
    .orderBy('machine_id')
    .orderBy('name')
    .limit(pageSize)
    .execute()
}

async function rotateOne(
  { db }: Pick<App, 'db'>,
  keyring: Keyring,
  row: SecretRow,
): Promise<boolean> {
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
