import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { ApiKeyId, OrganizationId, UserId } from './ids.ts'
import { ApiKeyScope, Permission, Role } from './permissions.ts'

export const Principal = z
  .object({
    user: z.object({ id: UserId, email: z.string(), name: z.string() }).nullable(),
    api_key: z.object({ id: ApiKeyId, name: z.string(), scopes: z.array(ApiKeyScope) }).nullable(),
    organization: z.object({ id: OrganizationId, name: z.string(), plan_id: z.string() }),
    role: Role.nullable(),
    permissions: z.array(Permission),
    organizations: z.array(z.object({ id: OrganizationId, name: z.string(), role: Role })),
    gateway_url: z.string(),
  })
  .meta({ id: 'Principal' })
export type Principal = z.infer<typeof Principal>

export const auth = {
  me: endpoint({
    method: 'GET',
    path: '/v1/auth/me',
    summary: 'Who is calling, in which organization, and what it may do.',
    requires: 'member',
    status: 200,
    response: Principal,
  }),
}
