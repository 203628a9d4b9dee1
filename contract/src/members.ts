import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { MembershipId, UserId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { Role } from './permissions.ts'
import { NoContent, Timestamp } from './text.ts'

export const Membership = z
  .object({
    id: MembershipId,
    user: z.object({ id: UserId, email: z.string(), name: z.string() }),
    role: Role,
    created_at: Timestamp,
  })
  .meta({ id: 'Membership' })
export type Membership = z.infer<typeof Membership>

const params = z.object({ membership_id: MembershipId })

export const members = {
  list: endpoint({
    method: 'GET',
    path: '/v1/members',
    summary: 'List the members of the organization, newest first.',
    requires: 'member',
    query: PageQuery,
    status: 200,
    response: pageOf(Membership),
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/v1/members/{membership_id}',
    summary:
      'Change the role of a member. Only an owner can appoint or demote owners. The last owner stays.',
    requires: 'members:manage',
    params,
    body: z.strictObject({ role: Role }),
    status: 200,
    response: Membership,
    audits: 'member.role_changed',
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/v1/members/{membership_id}',
    summary: 'Remove a member. Only an owner can remove owners. The last owner stays.',
    requires: 'members:manage',
    params,
    status: 204,
    response: NoContent,
    audits: 'member.removed',
  }),
}
