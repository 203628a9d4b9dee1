import type { ApiKey, apiKeys } from '@computer/contract'
import type { App } from '../app.ts'
import type { ApiKeyRow } from '../db/database.ts'
import { createApiKey, listApiKeys, revokeApiKey } from '../domain/accounts/api-keys.ts'
import type { Routes } from './route.ts'
import { showTime } from './show.ts'

export function apiKeyRoutes(app: Pick<App, 'db'>): Routes<typeof apiKeys> {
  return {
    create: async (actor, { body, newId }) => {
      const { secret, ...row } = await createApiKey(app, actor, newId('key'), body)
      return { ...show(row), secret }
    },
    list: async (actor, { query }) => {
      const page = await listApiKeys(app.db, actor, query)
      return { ...page, data: page.data.map(show) }
    },
    revoke: async (actor, { params }) => show(await revokeApiKey(app, actor, params.api_key_id)),
  }
}

function show(row: ApiKeyRow): ApiKey {
  return {
    ...row,
    created_at: row.created_at.toISOString(),
    last_used_at: showTime(row.last_used_at),
    expires_at: showTime(row.expires_at),
    revoked_at: showTime(row.revoked_at),
  }
}
