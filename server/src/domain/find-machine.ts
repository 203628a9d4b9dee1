import type { MachineId, OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../actor.ts'
import { batchReads } from '../db/batch.ts'
import type { Database, MachineRow, Tx } from '../db/database.ts'
import { allColumns } from '../db/query-compiler.ts'
import { ApiError, notFound } from '../errors.ts'
import { requireRunning } from './require-running.ts'

/** Reads a machine of the actor's organization. Machines of others are not found. */
export async function getMachine(db: Database, actor: Actor, id: MachineId): Promise<MachineRow> {
  const machine = await readMachine(db, { id, organizationId: actor.organizationId })
  if (!machine) throw notFound(`machine ${id}`)
  return machine
}

/** Reads a machine and throws unless it is running. */
export async function getRunningMachine(db: Database, actor: Actor, id: MachineId) {
  const machine = await getMachine(db, actor, id)
  await requireRunning(db, machine)
  return machine
}

/**
 * Reads a machine and locks it until the end of the transaction. The lock allows inserts of rows that
 * refer to the machine.
 */
export async function lockMachine(tx: Tx, actor: Actor, id: MachineId): Promise<MachineRow> {
  await tx.selectFrom('machines').select('id').where('id', '=', id).forNoKeyUpdate().execute()
  return getMachine(tx, actor, id)
}

/** Throws if the machine was deleted. Its snapshots are left, and the message says how to use them. */
export async function requireUndeleted(tx: Tx, actor: Actor, id: MachineId): Promise<void> {
  const deleted = await tx
    .selectFrom('machines')
    .select('id')
    .where('id', '=', id)
    .where('organization_id', '=', actor.organizationId)
    .where('deleted_at', 'is not', null)
    .executeTakeFirst()
  if (!deleted) return
  throw new ApiError(
    'not_found',
    `machine ${id} was deleted; to use one of its snapshots, create a template from it and a machine from that template`,
  )
}

/** Locks a machine of any organization, deleted ones included, for callers without an actor. */
export async function lockAnyMachine(tx: Tx, id: MachineId): Promise<MachineRow> {
  return tx
    .selectFrom('machines')
    .selectAll()
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
}

export type MachineKey = { readonly id: MachineId; readonly organizationId: OrganizationId }

/** Nearly every call begins with this read, so concurrent ones share a query. */
export const readMachine = batchReads<MachineKey, MachineRow>(async (db, keys) => {
  const ids = keys.map(({ id }) => id)
  const organizations = keys.map(({ organizationId }) => organizationId)
  const { rows } = await sql<MachineRow & { place: number }>`
    select ${allColumns('machines', 'm')}, k.place
    from unnest(${ids}::text[], ${organizations}::text[]) with ordinality
      as k (id, organization_id, place)
    join machines as m on m.id = k.id and m.organization_id = k.organization_id
    where m.deleted_at is null`.execute(db)
  const found: MachineRow[] = []
  for (const { place, ...machine } of rows) found[place - 1] = machine as MachineRow
  return found
})
