import type { Invitation, invitations } from '@computer/contract'
import type { App } from '../app.ts'
import { createInvitation } from '../domain/accounts/invitation-creation.ts'
import {
  acceptAndEnter,
  listInvitations,
  lookUpInvitation,
  revokeInvitation,
  type Invitation as InvitationWithState,
} from '../domain/accounts/invitations.ts'
import type { Routes } from './route.ts'
import { pageToWire, rowToWire } from './to-wire.ts'
import { memberToWire } from './members.ts'

export function invitationRoutes(app: Pick<App, 'db' | 'config'>): Routes<typeof invitations> {
  return {
    list: async (actor, { query }) =>
      pageToWire(await listInvitations(app.db, actor, query), toWire),
    create: async (actor, { body, newId }) => {
      const { acceptUrl, ...row } = await createInvitation(app, actor, newId('inv'), body)
      return { ...toWire(row), accept_url: acceptUrl }
    },
    revoke: async (actor, { params }) =>
      toWire(await revokeInvitation(app, actor, params.invitation_id)),
    lookup: (_caller, { body }) => lookUpInvitation(app.db, body.token),
    accept: async (actor, { body }) => {
      const member = await acceptAndEnter(app, actor, body.token)
      return { ...memberToWire(member), organization_id: member.organization_id }
    },
  }
}

function toWire(row: InvitationWithState): Invitation {
  return { ...rowToWire(row), invited_by: { id: row.invited_by, name: row.inviter_name } }
}
