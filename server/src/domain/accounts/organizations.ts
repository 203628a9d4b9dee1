import type { OrganizationId, UserId } from '@computer/contract'
import type { Actor, UserActor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { OrganizationRow, Tx } from '../../db/database.ts'
import { notFound } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { auditedBy, noteAudit } from './audit-events.ts'

/** Called again with the id of an earlier call that was cut off, it answers what that call made. */
export async function createOrganization(
  app: Pick<App, 'db' | 'config'>,
  actor: UserActor,
  id: OrganizationId,
  wish: { readonly name: string },
): Promise<OrganizationRow> {
  return app.db.transaction().execute(async (tx) => {
    const existing = await findOrganization(tx, id)
    if (existing) return existing
    const organization = { id, name: wish.name, plan_id: app.config.signupPlan }
    const row = await insertOrganization(tx, organization, actor.userId)
    await noteAudit(tx, {
      ...auditedBy(actor),
      organizationId: id,
      type: 'organization.created',
      target: { type: 'organization', id, name: row.name },
    })
    return row
  })
}

/** An organization for a user who would have none: everybody belongs to at least one. */
export async function createPersonalOrganization(
  tx: Tx,
  user: { readonly id: UserId; readonly name: string },
  planId: string,
): Promise<OrganizationId> {
  const organization = { id: newId('org'), name: `${user.name}'s organization`, plan_id: planId }
  const { id, name } = await insertOrganization(tx, organization, user.id)
  await noteAudit(tx, {
    organizationId: id,
    type: 'organization.created',
    actor: null,
    address: null,
    target: { type: 'organization', id, name },
  })
  return id
}

/** The organization that the actor acts in. Others do not exist. */
export async function renameOrganization(
  app: Pick<App, 'db'>,
  actor: Actor,
  id: OrganizationId,
  name: string,
): Promise<OrganizationRow> {
  if (id !== actor.organizationId) throw notFound(`organization ${id}`)
  return app.db.transaction().execute(async (tx) => {
    await lockOrganization(tx, actor)
    const before = await tx
      .selectFrom('organizations')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    if (before.name === name) return before
    await noteAudit(tx, {
      ...auditedBy(actor),
      type: 'organization.renamed',
      target: { type: 'organization', id, name },
      message: `it was ${before.name}`,
    })
    return tx
      .updateTable('organizations')
      .set({ name })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow()
  })
}

/**
 * Held while something is counted against a plan, so that two callers cannot both take the last
 * place, and while it is decided who belongs to it. No key update: rows that refer to it, an event
 * of the worker say, are inserted meanwhile.
 */
export async function lockOrganization(
  tx: Tx,
  { organizationId }: Pick<Actor, 'organizationId'>,
): Promise<void> {
  await tx
    .selectFrom('organizations')
    .select('id')
    .where('id', '=', organizationId)
    .forNoKeyUpdate()
    .execute()
}

async function findOrganization(tx: Tx, id: OrganizationId): Promise<OrganizationRow | undefined> {
  return tx.selectFrom('organizations').selectAll().where('id', '=', id).executeTakeFirst()
}

async function insertOrganization(
  tx: Tx,
  organization: { readonly id: OrganizationId; readonly name: string; readonly plan_id: string },
  ownerId: UserId,
): Promise<OrganizationRow> {
  const row = await tx
    .insertInto('organizations')
    .values(organization)
    .returningAll()
    .executeTakeFirstOrThrow()
  await tx
    .insertInto('memberships')
    .values({ id: newId('mem'), organization_id: row.id, user_id: ownerId, role: 'owner' })
    .execute()
  return row
}
