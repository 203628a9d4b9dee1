import type { Actor } from '../actor.ts'
import type { Tx } from '../db/database.ts'

/**
 * Held while something is counted against a plan, so that two callers cannot both take the last
 * place. No key update: rows that refer to it, an event of the worker say, are inserted meanwhile.
 */
export async function lockOrganization(tx: Tx, actor: Actor): Promise<void> {
  await tx
    .selectFrom('organizations')
    .select('id')
    .where('id', '=', actor.organizationId)
    .forNoKeyUpdate()
    .execute()
}
