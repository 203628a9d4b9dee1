import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { ApiKeyId, OrganizationId, UserId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { ApiKeyScope } from './permissions.ts'
import { text, Timestamp } from './text.ts'

export const ApiKey = z
  .object({
    id: ApiKeyId,
    organization_id: OrganizationId,
    name: text(255, 1),
    prefix: z.string().describe('The first characters of the secret, to recognize a key by.'),
    scopes: z.array(ApiKeyScope).min(1),
    created_by: UserId,
    created_at: Timestamp,
    last_used_at: Timestamp.nullable(),
    expires_at: Timestamp.nullable(),
    revoked_at: Timestamp.nullable(),
  })
  .meta({ id: 'ApiKey' })
export type ApiKey = z.infer<typeof ApiKey>

export const CreatedApiKey = ApiKey.extend({
  secret: z.string().describe('The full secret. It is returned only by this call.'),
}).meta({ id: 'CreatedApiKey' })

export const apiKeys = {
  create: endpoint({
    method: 'POST',
    path: '/v1/api-keys',
    summary: 'Create an API key. Only this response contains its secret.',
    requires: 'api_keys:manage',
    body: z.strictObject({
      name: text(255, 1),
      scopes: z.array(ApiKeyScope).min(1).max(ApiKeyScope.options.length),
      expires_at: Timestamp.optional(),
    }),
    status: 201,
    response: CreatedApiKey,
    creates: true,
    audits: 'api_key.created',
  }),
  list: endpoint({
    method: 'GET',
    path: '/v1/api-keys',
    summary: 'List API keys, including revoked ones, newest first.',
    requires: 'member',
    query: PageQuery,
    status: 200,
    response: pageOf(ApiKey),
  }),
  revoke: endpoint({
    method: 'DELETE',
    path: '/v1/api-keys/{api_key_id}',
    summary: 'Revoke an API key. Revoking a revoked key has no effect.',
    requires: 'api_keys:manage',
    params: z.object({ api_key_id: ApiKeyId }),
    status: 200,
    response: ApiKey,
    audits: 'api_key.revoked',
  }),
}
