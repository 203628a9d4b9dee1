import type { gateway } from '@computer/contract'
import type { App } from '../app.ts'
import { createGatewayToken } from '../domain/accounts/gateway-tokens.ts'
import type { Routes } from './route.ts'

export function gatewayTokenRoutes(app: Pick<App, 'db'>): Routes<typeof gateway> {
  return {
    createToken: async (actor) => {
      const { token, expires_at: expiresAt } = await createGatewayToken(app.db, actor)
      return { token, expires_at: expiresAt.toISOString() }
    },
  }
}
