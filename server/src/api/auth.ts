import type { auth } from '@computer/contract'
import type { App } from '../app.ts'
import { describePrincipal } from '../domain/principals.ts'
import type { Routes } from './route.ts'

export function authRoutes(app: Pick<App, 'db' | 'config'>): Routes<typeof auth> {
  return {
    me: (actor) => describePrincipal(app, actor),
  }
}
