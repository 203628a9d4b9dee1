import type { OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import type { UserActor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Tx } from '../../db/database.ts'
import { conflict, notFound } from '../../errors.ts'
import { auditedBy, noteAudit } from './audit-events.ts'
import { dropMembership, findMembers, requireOwner } from './members.ts'
import { lockOrganization } from './organizations.ts'

/**
 * Deletes an organization of which the actor is an owner, active or not, once it has no machines,
 * snapshots or templates. Its other members, keys and invitations end with it.
 */
export async function deleteOrganization(
  app: Pick<App, 'db' | 'config'>,
  actor: UserActor,
  organizationId: OrganizationId,
): Promise<void> {
  await app.db.transaction().execute(async (tx) => {
    await lockOrganization(tx, { organizationId })
    const members = await findMembers(tx, { organizationId })
    const own = members.find(({ user_id }) => user_id === actor.userId)
    if (!own) throw notFound(`organization ${organizationId}`)
    requireOwner(own.role, 'delete an organization')
    await requireOther(tx, actor, organizationId)
    const remains = await describeRemains(tx, organizationId)
    if (remains) throw conflict(`the organization still has ${remains}: delete them first`)
    for (const member of members) await dropMembership(app, tx, member)
    await closeOrganization(tx, actor, organizationId)
  })
}

/** What is left of an organization that would be lost with it, such as `2 machines and 1 template`. */
export async function describeRemains(tx: Tx, id: OrganizationId): Promise<string | null> {
  const { rows } = await sql<{ count: number; noun: string }>`
    select count(*)::int as count, 'machine' as noun from machines
      where organization_id = ${id} and deleted_at is null
    union all select count(*)::int, 'snapshot' from snapshots
      where organization_id = ${id} and deleted_at is null
    union all select count(*)::int, 'template' from templates where organization_id = ${id}`.execute(
    tx,
  )
  const left = rows.filter(({ count }) => count > 0)
  const parts = left.map(({ count, noun }) => `${count} ${noun}${count === 1 ? '' : 's'}`)
  return parts.length > 0 ? parts.join(', ').replace(/, ([^,]*)$/, ' and $1') : null
}

/** Ends a locked organization that has no members any more. */
export async function closeOrganization(
  tx: Tx,
  actor: UserActor,
  id: OrganizationId,
): Promise<void> {
  await tx
    .updateTable('api_keys')
    .set({ revoked_at: sql`now()` })
    .where('organization_id', '=', id)
    .where('revoked_at', 'is', null)
    .execute()
  await tx
    .updateTable('invitations')
    .set({ revoked_at: sql`now()` })
    .where('organization_id', '=', id)
    .where('accepted_at', 'is', null)
    .where('revoked_at', 'is', null)
    .execute()
  await tx.deleteFrom('budgets').where('organization_id', '=', id).execute()
  await tx.deleteFrom('webhooks').where('organization_id', '=', id).execute()
  const { name } = await tx
    .updateTable('organizations')
    .set({ deleted_at: sql`now()` })
    .where('id', '=', id)
    .returning('name')
    .executeTakeFirstOrThrow()
  await noteAudit(tx, {
    ...auditedBy(actor),
    organizationId: id,
    type: 'organization.deleted',
    target: { type: 'organization', id, name },
  })
}

/** Everybody acts in some organization: the last one goes with the account. */
async function requireOther(tx: Tx, actor: UserActor, id: OrganizationId): Promise<void> {
  const other = await tx
    .selectFrom('memberships')
    .select('id')
    .where('user_id', '=', actor.userId)
    .where('organization_id', '!=', id)
    .limit(1)
    .executeTakeFirst()
  if (other) return
  throw conflict(
    'this is your only organization: delete your account instead, or create another organization first',
  )
}
