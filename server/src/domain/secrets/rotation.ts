import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { SecretRow } from '../../db/database.ts'
import { keyIdOf, open, seal, Unopenable, type Keyring } from './keyring.ts'
import { contextOf } from './sets.ts'

export type Rotation = {
  /** The number of secrets that were encrypted again. */
  readonly rotated: number
  /** The secrets that no key of the keyring opens. */
  readonly unopened: readonly Unopened[]
}
export type Unopened = { readonly secret: string; readonly reason: string }

const pageSize = 100

/**
 * Encrypts every secret again with the first key of the keyring, unless it already is. Runs beside the
 * server: a secret that is replaced meanwhile is left as it is. Versions do not change, so nothing is
 * delivered to machines.
 */
export async function rotateSecrets(app: Pick<App, 'db'>, keyring: Keyring): Promise<Rotation> {
  return untilNone(() => rotateAll(app, keyring))
}

export async function untilNone(rotate: () => Promise<Rotation>): Promise<Rotation> {
  for (let rotated = 0; ;) {
    const pass = await rotate()
    rotated += pass.rotated
    // Repeats, because a call that had read the keyring before the new key may have stored a secret.
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
        unopened.push({ secret: `${row.name} of ${row.machine_id}`, reason: error.message })
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
