import type { apiKeys } from '@computer/contract'
import type { App } from '../app.ts'
import { createApiKey, listApiKeys, revokeApiKey } from '../domain/accounts/api-keys.ts'
import type { Routes } from './route.ts'
import { pageToWire, rowToWire } from './to-wire.ts'

export function apiKeyRoutes(app: Pick<App, 'db'>): Routes<typeof apiKeys> {
  return {
    create: async (actor, { body, newId }) =>
      rowToWire(await createApiKey(app, actor, newId('key'), body)),
    list: async (actor, { query }) =>
      pageToWire(await listApiKeys(app.db, actor, query), rowToWire),
    revoke: async (actor, { params }) =>
      rowToWire(await revokeApiKey(app, actor, params.api_key_id)),
  }
}
