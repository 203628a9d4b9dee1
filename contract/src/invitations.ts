import { z } from 'zod'
import { Email } from './auth.ts'
import { endpoint } from './endpoint.ts'
import { InvitationId, OrganizationId, UserId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { Membership } from './members.ts'
import { Role } from './permissions.ts'
import { text, Timestamp } from './text.ts'

export const InvitationState = z
  .enum(['pending', 'accepted', 'revoked', 'expired'])
  .meta({ id: 'InvitationState' })
export type InvitationState = z.infer<typeof InvitationState>

export const Invitation = z
  .object({
    id: InvitationId,
    organization_id: OrganizationId,
    email: z.string(),
    role: Role,
    state: InvitationState,
    invited_by: z.object({ id: UserId, name: z.string() }),
    created_at: Timestamp,
    expires_at: Timestamp,
  })
  .meta({ id: 'Invitation' })
export type Invitation = z.infer<typeof Invitation>

export const CreatedInvitation = Invitation.extend({
  accept_url: z
    .string()
    .describe(
      'The link for the invited person. Only this response contains it: pass it on if the server sends no mail.',
    ),
}).meta({ id: 'CreatedInvitation' })

export const InvitationLookup = z
  .object({
    organization: z.object({ name: z.string() }),
    email: z.string().describe('Only the account of this email can accept.'),
    role: Role,
    invited_by: z.object({ name: z.string() }),
    state: InvitationState,
    expires_at: Timestamp,
  })
  .meta({ id: 'InvitationLookup' })
export type InvitationLookup = z.infer<typeof InvitationLookup>

export const invitations = {
  list: endpoint({
    method: 'GET',
    path: '/v1/invitations',
    summary: 'List invitations of one state, newest first.',
    requires: 'member',
    query: PageQuery.extend({ state: InvitationState.default('pending') }),
    status: 200,
    response: pageOf(Invitation),
  }),
  create: endpoint({
    method: 'POST',
    path: '/v1/invitations',
    summary: 'Invite a person by email. The invitation is valid for 7 days and one use.',
    requires: 'members:manage',
    body: z.strictObject({ email: Email, role: Role.default('member') }),
    status: 201,
    response: CreatedInvitation,
    creates: true,
    audits: 'invitation.created',
  }),
  revoke: endpoint({
    method: 'DELETE',
    path: '/v1/invitations/{invitation_id}',
    summary: 'Revoke a pending invitation. Has no effect on any other.',
    requires: 'members:manage',
    params: z.object({ invitation_id: InvitationId }),
    status: 200,
    response: Invitation,
    audits: 'invitation.revoked',
  }),
  lookup: endpoint({
    method: 'POST',
    path: '/v1/invitations/lookup',
    summary: 'Get an invitation by its token, also when it can no longer be accepted.',
    requires: 'public',
    body: z.strictObject({ token: text(200, 1) }),
    status: 200,
    response: InvitationLookup,
  }),
  accept: endpoint({
    method: 'POST',
    path: '/v1/invitations/accept',
    summary:
      'Accept an invitation for your email. Your session then acts in the inviting organization.',
    requires: 'user',
    body: z.strictObject({ token: text(200, 1) }),
    status: 200,
    response: Membership.extend({ organization_id: OrganizationId }),
  }),
}
