import type { gateway } from '@computer/contract'
import type { App } from '../app.ts'
import { createGatewayToken } from '../domain/accounts/gateway-tokens.ts'
import type { Routes } from './route.ts'
import { rowToWire } from './to-wire.ts'

export function gatewayTokenRoutes(app: Pick<App, 'db'>): Routes<typeof gateway> {
  return {
    createToken: async (actor) => rowToWire(await createGatewayToken(app.db, actor)),
  }
}
