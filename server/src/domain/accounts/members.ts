import {
  permissionsOf,
  type MembershipId,
  type OrganizationId,
  type Role,
  type UserId,
} from '@computer/contract'
import type { Actor, UserActor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Database, Tx } from '../../db/database.ts'
import { ApiError, conflict, notFound } from '../../errors.ts'
import { auditedBy, noteAudit } from './audit-events.ts'
import { createPersonalOrganization, lockOrganization, requireRoomToOwn } from './organizations.ts'
import { hasPermission, missingPermission } from './permissions.ts'
import { newestFirst, type PageRequest } from '../page.ts'

export type Member = {
  readonly id: MembershipId
  readonly organization_id: OrganizationId
  readonly user_id: UserId
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly created_at: Date
  /** When the user's account was disabled. */
  readonly disabled_at: Date | null
}

export async function listMembers(db: Database, actor: Actor, page: PageRequest) {
  const rows = selectMembers(db, actor)
  return newestFirst('mem', page, rows, 'm.id')
}

/** All members, in the order in which their users are locked. */
export async function findMembers(
  tx: Tx,
  actor: Pick<Actor, 'organizationId'>,
): Promise<readonly Member[]> {
  return selectMembers(tx, actor).orderBy('m.user_id').execute()
}

export async function getMember(
  db: Database,
  actor: Pick<Actor, 'organizationId'>,
  id: MembershipId,
): Promise<Member> {
  const member = await selectMembers(db, actor).where('m.id', '=', id).executeTakeFirst()
  if (!member) throw notFound(`member ${id}`)
  return member
}

export async function changeRole(
  app: Pick<App, 'db' | 'config'>,
  actor: Actor,
  id: MembershipId,
  role: Role,
): Promise<Member> {
  return app.db.transaction().execute(async (tx) => {
    const managerRole = await lockAsManager(tx, actor)
    const member = await getMember(tx, actor, id)
    if (member.role === role) return member
    if (role === 'owner') {
      requireOwner(managerRole, 'make an owner')
      await requireRoomToOwn(tx, app.config, member.user_id)
    }
    if (member.role === 'owner') {
      requireOwner(managerRole, "change an owner's role")
      await requireAnotherOwner(tx, member)
    }
    await tx.updateTable('memberships').set({ role }).where('id', '=', id).execute()
    await noteAudit(tx, {
      ...auditedBy(actor),
      type: 'member.role_changed',
      target: { type: 'user', id: member.user_id, name: member.email },
      message: `from ${member.role} to ${role}`,
    })
    return { ...member, role }
  })
}

export async function removeMember(
  app: Pick<App, 'db' | 'config'>,
  actor: Actor,
  id: MembershipId,
): Promise<void> {
  await app.db.transaction().execute(async (tx) => {
    const managerRole = await lockAsManager(tx, actor)
    const member = await getMember(tx, actor, id)
    if (member.role === 'owner') requireOwner(managerRole, 'remove an owner')
    await endMembership(app, tx, member)
    await noteAudit(tx, {
      ...auditedBy(actor),
      type: 'member.removed',
      target: { type: 'user', id: member.user_id, name: member.email },
      message: `was ${member.role}`,
    })
  })
}

/** Ends the actor's own membership in any of their organizations, not only in the active one. */
export async function leaveOrganization(
  app: Pick<App, 'db' | 'config'>,
  actor: UserActor,
  organizationId: OrganizationId,
): Promise<void> {
  await app.db.transaction().execute(async (tx) => {
    await lockOrganization(tx, { organizationId })
    const member = await selectMembers(tx, { organizationId })
      .where('m.user_id', '=', actor.userId)
      .executeTakeFirst()
    if (!member) throw notFound(`organization ${organizationId}`)
    await endMembership(app, tx, member)
    await noteAudit(tx, {
      ...auditedBy(actor),
      organizationId,
      type: 'member.left',
      target: { type: 'user', id: member.user_id, name: member.email },
      message: `was ${member.role}`,
    })
  })
}

/**
 * Locks the organization and checks the endpoint's permission again, on the rows as they are now: if
 * two managers demote each other at once, the second must fail. Returns the actor's role.
 */
export async function lockAsManager(tx: Tx, actor: Actor): Promise<Role> {
  await lockOrganization(tx, actor)
  const member = await selectMembers(tx, actor)
    .where('m.user_id', '=', actor.userId)
    .executeTakeFirst()
  const requires = 'members:manage'
  if (member && hasPermission({ permissions: permissionsOf(member.role) }, requires)) {
    return member.role
  }
  throw missingPermission(requires)
}

/** Otherwise admins could extend their own permissions by appointing owners. */
export function requireOwner(role: Role, action: string): void {
  if (role === 'owner') return
  throw new ApiError(
    'permission_denied',
    `only an owner can ${action}; ask an owner of the organization`,
  )
}

/** Call it under the organization's lock. */
async function endMembership(app: Pick<App, 'config'>, tx: Tx, member: Member): Promise<void> {
  if (member.role === 'owner') await requireAnotherOwner(tx, member)
  await dropMembership(app, tx, member)
}

/** The same for any owner. A user's last membership is replaced by a personal one. */
export async function dropMembership(
  app: Pick<App, 'config'>,
  tx: Tx,
  member: Member,
): Promise<void> {
  // Locks the user, so that two organizations that remove them at once do not both see the other one.
  const user = await tx
    .selectFrom('users')
    .select(['id', 'name'])
    .where('id', '=', member.user_id)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
  await tx.deleteFrom('memberships').where('id', '=', member.id).execute()
  const other = await tx
    .selectFrom('memberships')
    .select('id')
    .where('user_id', '=', user.id)
    .limit(1)
    .executeTakeFirst()
  if (!other) await createPersonalOrganization(tx, user, app.config.signupPlan)
}

/** Owners whose account is disabled do not count, because they cannot act. */
async function requireAnotherOwner(tx: Tx, member: Member): Promise<void> {
  const other = await selectMembers(tx, { organizationId: member.organization_id })
    .where('m.id', '!=', member.id)
    .where('m.role', '=', 'owner')
    .where('u.disabled_at', 'is', null)
    .limit(1)
    .executeTakeFirst()
  if (other) return
  throw conflict('this is the last owner of the organization; make another member an owner first')
}

function selectMembers(db: Database, { organizationId }: Pick<Actor, 'organizationId'>) {
  return db
    .selectFrom('memberships as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .select(['m.id', 'm.organization_id', 'm.user_id', 'm.role', 'm.created_at'])
    .select(['u.email', 'u.name', 'u.disabled_at'])
    .where('m.organization_id', '=', organizationId)
}
