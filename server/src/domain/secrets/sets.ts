import type { MachineId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { MachineRow, SecretRow, Tx } from '../../db/database.ts'

/*
 * The secrets of a machine as one set. Every change increments the set's revision under the machine's
 * lock. A set is delivered as a whole with its revision, so a late delivery cannot undo a newer one, and
 * secrets that were stored after the set was read do not count as delivered.
 */

export type SecretSet = {
  readonly revision: number
  readonly secrets: readonly Omit<SecretRow, 'delivered_at'>[]
}

/** Binds a sealed value to its row and version: it opens nowhere else. */
export function contextOf(row: Omit<SecretRow, 'sealed' | 'delivered_at'>): readonly string[] {
  const { organization_id, machine_id, name, version, revision } = row
  return ['machine secret', organization_id, machine_id, name, String(version), String(revision)]
}

/** Identifies a boot of a machine: secrets are in its memory only, so the next boot needs them again. */
function runOf({ generation, boots }: Pick<MachineRow, 'generation' | 'boots'>): string {
  return `${generation}.${boots}`
}

/** Call it first in every change of the set. Makes the set due for delivery. */
export async function raiseRevision(tx: Tx, machineId: MachineId): Promise<number> {
  const { revision } = await tx
    .insertInto('secret_deliveries')
    .values({ id: machineId, revision: 1 })
    .onConflict((conflicting) =>
      conflicting.column('id').doUpdateSet({
        revision: sql`secret_deliveries.revision + 1`,
        attempts: 0,
        next_attempt_at: sql`clock_timestamp()`,
      }),
    )
    .returning('revision')
    .executeTakeFirstOrThrow()
  return revision
}

/** Undefined for a machine that has never had a secret. */
export async function readSecretSet(
  app: Pick<App, 'db'>,
  machineId: MachineId,
): Promise<SecretSet | undefined> {
  // One statement, so that the revision matches the secrets.
  const rows = await app.db
    .selectFrom('secret_deliveries as d')
    .leftJoin('machine_secrets as s', 's.machine_id', 'd.id')
    .select(['d.revision as set_revision', 'd.id'])
    .select(['s.name', 's.organization_id', 's.version', 's.revision', 's.sealed'])
    .where('d.id', '=', machineId)
    .execute()
  const [first] = rows
  if (!first) return undefined
  const secrets = rows.flatMap(({ name, organization_id, version, revision, sealed, ...row }) =>
    name !== null && organization_id !== null && version !== null && revision !== null && sealed
      ? [{ machine_id: row.id, name, organization_id, version, revision, sealed }]
      : [],
  )
  return { revision: first.set_revision, secrets }
}

/** Records that the machine has the set, except for the secrets that could not be opened. */
export async function noteDelivered(
  app: Pick<App, 'db'>,
  machine: MachineRow,
  set: SecretSet,
  unopened: readonly string[],
): Promise<void> {
  await app.db.transaction().execute(async (tx) => {
    // Lock order: the delivery before its secrets. A set with unopened secrets stays due.
    if (unopened.length === 0) {
      await tx
        .updateTable('secret_deliveries')
        .set({ delivered_revision: set.revision, delivered_run: runOf(machine), attempts: 0 })
        .where('id', '=', machine.id)
        .where('delivered_revision', '<=', set.revision)
        .execute()
    }
    await tx
      .updateTable('machine_secrets')
      .set({ delivered_at: sql`clock_timestamp()` })
      .where('machine_id', '=', machine.id)
      .where('revision', '<=', set.revision)
      .$if(unopened.length > 0, (query) => query.where('name', 'not in', unopened))
      .execute()
  })
}
