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
    prefix: z.string().describe('First characters of the secret, for display and matching.'),
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
  secret: z.string().describe('Shown once, never again.'),
}).meta({ id: 'CreatedApiKey' })

export const apiKeys = {
  create: endpoint({
    method: 'POST',
    path: '/v1/api-keys',
    summary: 'Create an API key. Its secret is in this answer alone.',
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
    summary: 'List API keys, revoked ones too, newest first.',
    requires: 'member',
    query: PageQuery,
    status: 200,
    response: pageOf(ApiKey),
  }),
  revoke: endpoint({
    method: 'DELETE',
    path: '/v1/api-keys/{api_key_id}',
    summary: 'Revoke an API key. Repeating it changes nothing.',
    requires: 'api_keys:manage',
    params: z.object({ api_key_id: ApiKeyId }),
    status: 200,
    response: ApiKey,
    audits: 'api_key.revoked',
  }),
}
