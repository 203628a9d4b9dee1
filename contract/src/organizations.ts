import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { OrganizationId } from './ids.ts'
import { NoContent, text, Timestamp } from './text.ts'

export const Organization = z
  .object({
    id: OrganizationId,
    name: z.string(),
    plan_id: z.string(),
    created_at: Timestamp,
  })
  .meta({ id: 'Organization' })
export type Organization = z.infer<typeof Organization>

const OrganizationName = text(100, 1)
const params = z.object({ organization_id: OrganizationId })

export const organizations = {
  create: endpoint({
    method: 'POST',
    path: '/v1/organizations',
    summary: 'Create an organization. You become its owner.',
    requires: 'user',
    body: z.strictObject({ name: OrganizationName }),
    status: 201,
    response: Organization,
    creates: true,
  }),
  rename: endpoint({
    method: 'PATCH',
    path: '/v1/organizations/{organization_id}',
    summary: 'Rename the organization you act in.',
    requires: 'members:manage',
    params,
    body: z.strictObject({ name: OrganizationName }),
    status: 200,
    response: Organization,
    audits: 'organization.renamed',
  }),
  delete: endpoint({
    method: 'DELETE',
    path: '/v1/organizations/{organization_id}',
    summary:
      'Delete an organization of which you are an owner. It must have no machines, snapshots or templates left.',
    requires: 'user',
    params,
    status: 204,
    response: NoContent,
    audits: 'organization.deleted',
  }),
  leave: endpoint({
    method: 'POST',
    path: '/v1/organizations/{organization_id}/leave',
    summary: 'Leave an organization. The last owner cannot leave.',
    requires: 'user',
    params,
    status: 204,
    response: NoContent,
    audits: 'member.left',
  }),
}
