import type { Invitation, invitations } from '@computer/contract'
import type { App } from '../app.ts'
import { createInvitation } from '../domain/accounts/invitation-creation.ts'
import {
  acceptAndEnter,
  listInvitations,
  revokeInvitation,
  type Invitation as InvitationWithState,
} from '../domain/accounts/invitations.ts'
import { showMember } from './members.ts'
import type { Routes } from './route.ts'

export function invitationRoutes(app: Pick<App, 'db' | 'config'>): Routes<typeof invitations> {
  return {
    list: async (actor, { query }) => {
      const page = await listInvitations(app.db, actor, query)
      return { ...page, data: page.data.map(show) }
    },
    create: async (actor, { body, newId }) => {
      const { acceptUrl, ...row } = await createInvitation(app, actor, newId('inv'), body)
      return { ...show(row), accept_url: acceptUrl }
    },
    revoke: async (actor, { params }) =>
      show(await revokeInvitation(app, actor, params.invitation_id)),
    accept: async (actor, { body }) => {
      const member = await acceptAndEnter(app, actor, body.token)
      return { ...showMember(member), organization_id: member.organization_id }
    },
  }
}

function show(row: InvitationWithState): Invitation {
  return {
    ...row,
    invited_by: { id: row.invited_by, name: row.inviter_name },
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
  }
}
