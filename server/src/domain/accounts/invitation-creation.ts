import type { InvitationId, Role } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { Database, Tx } from '../../db/database.ts'
import { conflict } from '../../errors.ts'
import { auditedBy, noteAudit } from './audit-events.ts'
import { getEntitlements, requireRoom } from './plans.ts'
import {
  getInvitation,
  invitationState,
  selectInvitations,
  targetOf,
  type Invitation,
} from './invitations.ts'
import { oneLine, sendMail } from './mails.ts'
import { lockAsManager, requireOwner } from './members.ts'
import { createToken, hashToken } from './tokens.ts'
import { normalizeEmail } from './users.ts'

/**
 * Invites an email address, and mails the link if mail is configured. Called again with the id of an
 * interrupted call, it gives that invitation a new token: nobody has received the first.
 */
export async function createInvitation(
  app: Pick<App, 'db' | 'config'>,
  actor: Actor,
  id: InvitationId,
  input: { readonly email: string; readonly role: Role },
): Promise<Invitation & { readonly acceptUrl: string }> {
  const email = normalizeEmail(input.email)
  const token = createToken('invitation')
  const acceptUrl = `${app.config.dashboardUrl}/accept-invitation#token=${token}`
  return app.db.transaction().execute(async (tx) => {
    const managerRole = await lockAsManager(tx, actor)
    const isRepeated = await renewToken(tx, actor, id, token)
    if (!isRepeated) {
      if (input.role === 'owner') requireOwner(managerRole, 'invite an owner')
      await requireNewAddress(tx, actor, email)
      await requireSeat(tx, actor)
      await tx
        .insertInto('invitations')
        .values({
          id,
          organization_id: actor.organizationId,
          email,
          role: input.role,
          token_hash: hashToken(token),
          invited_by: actor.userId,
          expires_at: sql`now() + interval '7 days'`,
        })
        .execute()
      await noteAudit(tx, {
        ...auditedBy(actor),
        type: 'invitation.created',
        target: targetOf({ id, email }),
        message: `as ${input.role}`,
      })
    }
    const invitation = await getInvitation(tx, actor, id)
    if (app.config.smtpUrl !== null && invitation.state === 'pending') {
      await mailInvitation(tx, invitation, acceptUrl)
    }
    return { ...invitation, acceptUrl }
  })
}

/** Gives an existing invitation the new token; false if there is no such invitation. */
async function renewToken(tx: Tx, actor: Actor, id: InvitationId, token: string): Promise<boolean> {
  const renewed = await tx
    .updateTable('invitations')
    .set({ token_hash: hashToken(token) })
    .where('id', '=', id)
    .where('organization_id', '=', actor.organizationId)
    .returning('id')
    .executeTakeFirst()
  return renewed !== undefined
}

async function requireNewAddress(tx: Tx, actor: Actor, email: string): Promise<void> {
  const member = await tx
    .selectFrom('memberships as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .select('m.id')
    .where('m.organization_id', '=', actor.organizationId)
    .where('u.email', '=', email)
    .executeTakeFirst()
  if (member) throw conflict('a member of this organization already has this email address')
  const pending = await selectInvitations(tx, actor)
    .where('i.email', '=', email)
    .where(invitationState, '=', 'pending')
    .executeTakeFirst()
  if (pending) {
    throw conflict(
      `this email address already has a pending invitation, ${pending.id}; revoke it to send a new one`,
    )
  }
}

/** A pending invitation counts as a member, so that it can always be accepted. */
export async function requireSeat(tx: Tx, actor: Pick<Actor, 'organizationId'>): Promise<void> {
  const entitlements = await getEntitlements(tx, actor.organizationId)
  requireRoom(entitlements, 'members', await countSeats(tx, actor))
}

/** Members and pending invitations. */
export async function countSeats(
  db: Database,
  { organizationId }: Pick<Actor, 'organizationId'>,
): Promise<number> {
  const members = await db
    .selectFrom('memberships')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow()
  const pending = await db
    .selectFrom('invitations as i')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('i.organization_id', '=', organizationId)
    .where(invitationState, '=', 'pending')
    .executeTakeFirstOrThrow()
  return members.count + pending.count
}

async function mailInvitation(tx: Tx, invitation: Invitation, acceptUrl: string): Promise<void> {
  const organization = await tx
    .selectFrom('organizations')
    .select('name')
    .where('id', '=', invitation.organization_id)
    .executeTakeFirstOrThrow()
  const inviter = oneLine(invitation.inviter_name)
  const name = oneLine(organization.name)
  await sendMail(tx, {
    recipient: invitation.email,
    subject: `${inviter} invites you to ${name}`,
    body: `${inviter} invites you to the organization "${name}" as ${invitation.role}.

Open this link, and sign in or sign up as ${invitation.email}:

${acceptUrl}

The link works once, within 7 days. If you did not expect this invitation, ignore this email.
`,
  })
}
