import type { MachineId } from '@computer/contract'
import type { Actor } from '../actor.ts'
import type { Database, MachineRow, Tx } from '../db/database.ts'
import { notFound, notRunning } from '../errors.ts'

/** Reads a machine of the actor's organization. Another organization's machine does not exist. */
export async function getMachine(db: Database, actor: Actor, id: MachineId): Promise<MachineRow> {
  const machine = await db
    .selectFrom('machines')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', actor.organizationId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  if (!machine) throw notFound(`machine ${id}`)
  return machine
}

/** The same, refused unless it is running. */
export async function getRunningMachine(db: Database, actor: Actor, id: MachineId) {
  const machine = await getMachine(db, actor, id)
  if (machine.state !== 'running') throw notRunning(machine.state)
  return machine
}

/**
 * Reads it and keeps it from changing until the end of the transaction. No key update: rows that
 * refer to it are inserted meanwhile.
 */
export async function lockMachine(tx: Tx, actor: Actor, id: MachineId): Promise<MachineRow> {
  await tx.selectFrom('machines').select('id').where('id', '=', id).forNoKeyUpdate().execute()
  return getMachine(tx, actor, id)
}

/** The same for who has no actor: a machine of any organization, and one that is gone too. */
export async function lockAnyMachine(tx: Tx, id: MachineId): Promise<MachineRow> {
  return tx
    .selectFrom('machines')
    .selectAll()
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
}
