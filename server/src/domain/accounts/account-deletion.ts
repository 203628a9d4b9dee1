import type { OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import type { UserActor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Tx } from '../../db/database.ts'
import { conflict } from '../../errors.ts'
import { auditedBy, noteAudit } from './audit-events.ts'
import { endAuthSessions } from './auth-sessions.ts'
import { findMembers, type Member } from './members.ts'
import { closeOrganization, describeRemains } from './organization-deletion.ts'
import { lockOrganization } from './organizations.ts'
import { verifyOwnPassword, wrongPassword } from './password-change.ts'
import { lockVerified } from './users.ts'

/**
 * Deletes the actor's account: sessions, API keys and memberships end, and their email and name are
 * forgotten, except in audit logs. Organizations that have no other member are deleted as well.
 *
 * Refused, with all reasons, while another organization would be left without an owner or something in an
 * organization of the actor alone would be lost.
 */
export async function deleteAccount(
  app: Pick<App, 'db'>,
  actor: UserActor,
  input: { readonly password: string },
): Promise<void> {
  const user = await verifyOwnPassword(app, actor, input.password)
  for (let isDone = false; !isDone;) {
    const organizations = await organizationsOf(app.db, actor)
    isDone = await app.db.transaction().execute(async (tx) => {
      // Lock order: the organizations before the user, as for every change of members.
      for (const organizationId of organizations) await lockOrganization(tx, { organizationId })
      if (!(await lockVerified(tx, user))) throw wrongPassword()
      const now = await organizationsOf(tx, actor)
      if (now.join() !== organizations.join()) return false
      await leaveAll(tx, actor, organizations)
      await forget(tx, actor)
      return true
    })
  }
}

async function leaveAll(
  tx: Tx,
  actor: UserActor,
  organizations: readonly OrganizationId[],
): Promise<void> {
  const reasons: string[] = []
  for (const id of organizations) {
    const members = await findMembers(tx, { organizationId: id })
    const own = members.find(({ user_id }) => user_id === actor.userId)!
    const others = members.filter((member) => member !== own)
    const reason = await findObstacle(tx, own, others)
    if (reason) reasons.push(reason)
    await noteAudit(tx, {
      ...auditedBy(actor),
      organizationId: id,
      type: 'user.deleted',
      target: { type: 'user', id: own.user_id, name: own.email },
      message: `was ${own.role}`,
    })
    await tx.deleteFrom('memberships').where('id', '=', own.id).execute()
    if (others.length === 0) await closeOrganization(tx, actor, id)
  }
  if (reasons.length > 0) {
    throw conflict(`your account cannot be deleted yet: ${reasons.join('; ')}`)
  }
}

/** Why a user must not leave an organization yet, or null. */
async function findObstacle(
  tx: Tx,
  own: Member,
  others: readonly Member[],
): Promise<string | null> {
  const id = own.organization_id
  if (others.length === 0) {
    const remains = await describeRemains(tx, id)
    return remains && `organization ${id}, which has no other member, still has ${remains}`
  }
  const hasOwner = others.some(({ role, disabled_at }) => role === 'owner' && !disabled_at)
  if (own.role !== 'owner' || hasOwner) return null
  return `you are the last owner of organization ${id}, which has other members: make one of them an owner, or delete the organization`
}

/** Ends every credential of the user and removes what identifies them. The email can be used again. */
async function forget(tx: Tx, { userId }: UserActor): Promise<void> {
  await endAuthSessions(tx, userId)
  await tx
    .updateTable('api_keys')
    .set({ revoked_at: sql`now()` })
    .where('created_by', '=', userId)
    .where('revoked_at', 'is', null)
    .execute()
  await tx.deleteFrom('password_resets').where('user_id', '=', userId).execute()
  await tx.deleteFrom('login_links').where('user_id', '=', userId).execute()
  await tx
    .updateTable('auth_sessions')
    .set({ address: null, network: null, user_agent: null })
    .where('user_id', '=', userId)
    .execute()
  await tx
    .updateTable('users')
    .set({
      email: `${userId}@deleted.invalid`,
      name: 'Deleted user',
      password_hash: null,
      disabled_at: sql`coalesce(disabled_at, now())`,
      deleted_at: sql`now()`,
    })
    .where('id', '=', userId)
    .execute()
}

async function organizationsOf(db: Pick<App, 'db'>['db'], { userId }: UserActor) {
  const memberships = await db
    .selectFrom('memberships')
    .select('organization_id')
    .where('user_id', '=', userId)
    .orderBy('organization_id')
    .execute()
  return memberships.map(({ organization_id }) => organization_id)
}
