import type { OrganizationId, UserId } from '@computer/contract'
import type { Actor, UserActor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Config } from '../../config.ts'
import type { OrganizationRow, PeriodRow, Tx } from '../../db/database.ts'
import { ApiError, conflict, notFound } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { auditedBy, noteAudit } from './audit-events.ts'
import { findOpenPeriod, openAccount } from './periods.ts'

export type OrganizationWithPlan = OrganizationRow & Pick<PeriodRow, 'plan_id'>

/** Called again with the id of an interrupted call, it returns the organization of that call. */
export async function createOrganization(
  app: Pick<App, 'db' | 'config'>,
  actor: UserActor,
  id: OrganizationId,
  input: { readonly name: string },
): Promise<OrganizationWithPlan> {
  return app.db.transaction().execute(async (tx) => {
    const existing = await findOrganization(tx, id)
    if (existing) return existing
    await requireRoomToOwn(tx, app.config, actor.userId)
    const row = await insertOrganization(
      tx,
      { id, name: input.name },
      { planId: app.config.signupPlan, ownerId: actor.userId },
    )
    await noteAudit(tx, {
      ...auditedBy(actor),
      organizationId: id,
      type: 'organization.created',
      target: { type: 'organization', id, name: row.name },
    })
    return row
  })
}

/** Every user belongs to at least one organization: this creates it for a user without one. */
export async function createPersonalOrganization(
  tx: Tx,
  user: { readonly id: UserId; readonly name: string },
  planId: string,
): Promise<OrganizationId> {
  const organization = { id: newId('org'), name: `${user.name}'s organization` }
  const { id, name } = await insertOrganization(tx, organization, { planId, ownerId: user.id })
  await noteAudit(tx, {
    organizationId: id,
    type: 'organization.created',
    actor: null,
    address: null,
    target: { type: 'organization', id, name },
  })
  return id
}

/** Renames the actor's active organization. Any other is reported as not found. */
export async function renameOrganization(
  app: Pick<App, 'db'>,
  actor: Actor,
  id: OrganizationId,
  name: string,
): Promise<OrganizationWithPlan> {
  if (id !== actor.organizationId) throw notFound(`organization ${id}`)
  return app.db.transaction().execute(async (tx) => {
    await lockOrganization(tx, actor)
    const before = (await findOrganization(tx, id))!
    if (before.name === name) return before
    await noteAudit(tx, {
      ...auditedBy(actor),
      type: 'organization.renamed',
      target: { type: 'organization', id, name },
      message: `it was ${before.name}`,
    })
    await tx.updateTable('organizations').set({ name }).where('id', '=', id).execute()
    return { ...before, name }
  })
}

/**
 * Serializes changes of members, and changes that are counted against a plan, so that two callers cannot
 * both take the last place. `no key update` lets others insert rows that refer to the organization.
 */
export async function lockOrganization(
  tx: Tx,
  { organizationId }: Pick<Actor, 'organizationId'>,
): Promise<void> {
  const organization = await lockAnyOrganization(tx, organizationId)
  // The caller was authorized before the deletion.
  if (organization?.deleted_at) throw notFound(`organization ${organizationId}`)
}

/** The same for callers without an actor, who may find a deleted one. */
export async function lockAnyOrganization(
  tx: Tx,
  organizationId: OrganizationId,
): Promise<OrganizationRow | undefined> {
  return tx
    .selectFrom('organizations')
    .selectAll()
    .where('id', '=', organizationId)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

/** Locks a user who is about to join or own an organization, so that their deletion waits or went first. */
export async function lockJoiningUser(tx: Tx, userId: UserId): Promise<void> {
  const user = await tx
    .selectFrom('users')
    .select('deleted_at')
    .where('id', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
  if (user.deleted_at) throw new ApiError('unauthenticated', 'this account was deleted')
}

/**
 * Call it before a user becomes the owner of another organization. Each one has a plan of its own, so
 * without a limit a user could have any amount. Locks the user, so that two calls cannot both take the
 * last place.
 */
export async function requireRoomToOwn(
  tx: Tx,
  { organizationsPerUser }: Pick<Config, 'organizationsPerUser'>,
  userId: UserId,
): Promise<void> {
  await lockJoiningUser(tx, userId)
  const { owned } = await tx
    .selectFrom('memberships')
    .select((eb) => eb.fn.countAll<number>().as('owned'))
    .where('user_id', '=', userId)
    .where('role', '=', 'owner')
    .executeTakeFirstOrThrow()
  if (owned < organizationsPerUser) return
  throw conflict(
    `a user may own ${organizationsPerUser} organizations on this server, and this user owns ${owned}: ` +
      'first hand one over to another owner and leave it, or ask the operator',
  )
}

async function findOrganization(
  tx: Tx,
  id: OrganizationId,
): Promise<OrganizationWithPlan | undefined> {
  const row = await tx
    .selectFrom('organizations')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  return row && { ...row, plan_id: (await findOpenPeriod(tx, id)).plan_id }
}

async function insertOrganization(
  tx: Tx,
  organization: { readonly id: OrganizationId; readonly name: string },
  { planId, ownerId }: { readonly planId: string; readonly ownerId: UserId },
): Promise<OrganizationWithPlan> {
  const row = await tx
    .insertInto('organizations')
    .values(organization)
    .returningAll()
    .executeTakeFirstOrThrow()
  await openAccount(tx, row.id, planId)
  await tx
    .insertInto('memberships')
    .values({ id: newId('mem'), organization_id: row.id, user_id: ownerId, role: 'owner' })
    .execute()
  return { ...row, plan_id: planId }
}
