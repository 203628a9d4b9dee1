import type { members, Membership } from '@computer/contract'
import type { App } from '../app.ts'
import { changeRole, listMembers, removeMember, type Member } from '../domain/accounts/members.ts'
import type { Routes } from './route.ts'
import { pageToWire } from './to-wire.ts'

export function memberRoutes(app: Pick<App, 'db' | 'config'>): Routes<typeof members> {
  return {
    list: async (actor, { query }) =>
      pageToWire(await listMembers(app.db, actor, query), memberToWire),
    update: async (actor, { params, body }) =>
      memberToWire(await changeRole(app, actor, params.membership_id, body.role)),
    remove: async (actor, { params }) => {
      await removeMember(app, actor, params.membership_id)
    },
  }
}

export function memberToWire(member: Member): Membership {
  const { id, user_id, email, name, role } = member
  return {
    id,
    user: { id: user_id, email, name },
    role,
    created_at: member.created_at.toISOString(),
  }
}
