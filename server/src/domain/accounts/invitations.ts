import type {
  InvitationId,
  InvitationLookup,
  InvitationState,
  MembershipId,
  OrganizationId,
  UserId,
} from '@computer/contract'
import { sql } from 'kysely'
import type { Actor, Caller, UserActor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Database, InvitationRow, Tx } from '../../db/database.ts'
import { ApiError, conflict, notFound } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { auditedBy, noteAudit } from './audit-events.ts'
import { getMember, lockAsManager, type Member } from './members.ts'
import { lockJoiningUser, lockOrganization, requireRoomToOwn } from './organizations.ts'
import { newestFirst, type PageRequest } from '../page.ts'
import { hashToken, isToken } from './tokens.ts'
import { getUser, normalizeEmail } from './users.ts'

export type Invitation = InvitationRow & {
  readonly state: InvitationState
  readonly inviter_name: string
}

/** Computed, not stored: no job has to run for an invitation to expire. */
export const invitationState = sql<InvitationState>`case
  when i.accepted_at is not null then 'accepted'
  when i.revoked_at is not null then 'revoked'
  when i.expires_at <= statement_timestamp() then 'expired'
  else 'pending' end`

export async function listInvitations(
  db: Database,
  actor: Actor,
  filter: PageRequest & { readonly state: InvitationState },
) {
  const rows = selectInvitations(db, actor).where(invitationState, '=', filter.state)
  return newestFirst('inv', filter, rows, 'i.id')
}

/** Revoking an expired or revoked invitation is a no-op; revoking an accepted one is a conflict. */
export async function revokeInvitation(
  app: Pick<App, 'db'>,
  actor: Actor,
  id: InvitationId,
): Promise<Invitation> {
  return app.db.transaction().execute(async (tx) => {
    await lockAsManager(tx, actor)
    const invitation = await getInvitation(tx, actor, id)
    if (invitation.state === 'accepted') {
      throw conflict('this invitation was accepted; remove the member instead')
    }
    if (invitation.state !== 'pending') return invitation
    await tx
      .updateTable('invitations')
      .set({ revoked_at: sql`now()` })
      .where('id', '=', id)
      .execute()
    await noteAudit(tx, {
      ...auditedBy(actor),
      type: 'invitation.revoked',
      target: targetOf(invitation),
    })
    return getInvitation(tx, actor, id)
  })
}

/** What the page of an invitation shows to whoever has its link. */
export async function lookUpInvitation(db: Database, token: string): Promise<InvitationLookup> {
  const row = isToken('invitation', token) && (await findByToken(db, token))
  if (!row) throw unknownToken()
  const { organization_name: name, inviter_name: inviter, ...invitation } = row
  return { ...invitation, organization: { name }, invited_by: { name: inviter } }
}

/** The invitations of a deleted organization have ended with it. */
async function findByToken(db: Database, token: string) {
  const row = await db
    .selectFrom('invitations as i')
    .innerJoin('users as u', 'u.id', 'i.invited_by')
    .innerJoin('organizations as o', 'o.id', 'i.organization_id')
    .select(['i.email', 'i.role', 'i.expires_at'])
    .select(['o.name as organization_name', 'u.name as inviter_name'])
    .select(invitationState.as('state'))
    .where('i.token_hash', '=', hashToken(token))
    .where('o.deleted_at', 'is', null)
    .executeTakeFirst()
  return row && { ...row, expires_at: row.expires_at.toISOString() }
}

/** Accepts as a signed-in user, and switches their session to the organization. */
export async function acceptAndEnter(
  app: Pick<App, 'db' | 'config'>,
  actor: UserActor,
  token: string,
): Promise<Member> {
  return app.db.transaction().execute(async (tx) => {
    const user = await getUser(tx, actor.userId)
    const { organizationId, membershipId } = await acceptInvitation(app, tx, user, actor, token)
    await tx
      .updateTable('auth_sessions')
      .set({ organization_id: organizationId })
      .where('id', '=', actor.authSessionId)
      .where('user_id', '=', user.id)
      .execute()
    return getMember(tx, { organizationId }, membershipId)
  })
}

/**
 * Makes a user a member if the invitation is for their email address. The refusal of a user with another
 * address names neither that address nor the state of the invitation.
 */
export async function acceptInvitation(
  app: Pick<App, 'config'>,
  tx: Tx,
  user: { readonly id: UserId; readonly email: string; readonly name: string },
  caller: Caller,
  token: string,
): Promise<{ organizationId: OrganizationId; membershipId: MembershipId }> {
  const found = await tx
    .selectFrom('invitations')
    .select(['id', 'organization_id', 'email'])
    .where('token_hash', '=', hashToken(token))
    .executeTakeFirst()
  if (!found) throw unknownToken()
  if (found.email !== normalizeEmail(user.email)) {
    throw new ApiError(
      'permission_denied',
      'this invitation is for another email address; sign in with the account of that address',
    )
  }
  const organizationId = found.organization_id
  await lockOrganization(tx, { organizationId })
  const invitation = await getInvitation(tx, { organizationId }, found.id)
  if (invitation.state !== 'pending') throw conflict(refusals[invitation.state])
  if (invitation.role === 'owner') await requireRoomToOwn(tx, app.config, user.id)
  else await lockJoiningUser(tx, user.id)

  const membership = await tx
    .insertInto('memberships')
    .values({
      id: newId('mem'),
      organization_id: organizationId,
      user_id: user.id,
      role: invitation.role,
    })
    .onConflict((existing) => existing.columns(['organization_id', 'user_id']).doNothing())
    .returning('id')
    .executeTakeFirst()
  if (!membership) throw conflict('you are already a member of this organization')
  await tx
    .updateTable('invitations')
    .set({ accepted_at: sql`now()` })
    .where('id', '=', invitation.id)
    .execute()

  const member = {
    organizationId,
    actor: { type: 'user', id: user.id, name: user.name },
    address: caller.address,
  } as const
  await noteAudit(tx, { ...member, type: 'invitation.accepted', target: targetOf(invitation) })
  await noteAudit(tx, {
    ...member,
    type: 'member.added',
    target: { type: 'user', id: user.id, name: user.email },
    message: `as ${invitation.role}`,
  })
  return { organizationId, membershipId: membership.id }
}

function unknownToken(): ApiError {
  return notFound('such invitation; ask for a new one')
}

const refusals = {
  accepted: 'this invitation was already accepted',
  revoked: 'this invitation was revoked; ask for a new one',
  expired: 'this invitation has expired; ask for a new one',
} as const

export async function getInvitation(
  db: Database,
  actor: Pick<Actor, 'organizationId'>,
  id: InvitationId,
): Promise<Invitation> {
  const invitation = await selectInvitations(db, actor).where('i.id', '=', id).executeTakeFirst()
  if (!invitation) throw notFound(`invitation ${id}`)
  return invitation
}

export function selectInvitations(db: Database, { organizationId }: Pick<Actor, 'organizationId'>) {
  return db
    .selectFrom('invitations as i')
    .innerJoin('users as u', 'u.id', 'i.invited_by')
    .selectAll('i')
    .select('u.name as inviter_name')
    .select(invitationState.as('state'))
    .where('i.organization_id', '=', organizationId)
}

/** The invitation as a target in the audit log. */
export function targetOf(invitation: Pick<Invitation, 'id' | 'email'>) {
  return { type: 'invitation', id: invitation.id, name: invitation.email }
}
