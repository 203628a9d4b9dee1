import type { auth, AuthSession } from '@computer/contract'
import type { UserActor } from '../actor.ts'
import type { App } from '../app.ts'
import { expiredSessionCookie, sessionCookie } from '../http/cookies.ts'
import {
  listAuthSessions,
  logout,
  revokeAuthSession,
  switchOrganization,
} from '../domain/accounts/auth-sessions.ts'
import { login, type SignedIn } from '../domain/accounts/login.ts'
import { changePassword } from '../domain/accounts/password-change.ts'
import { requestPasswordReset, resetPassword } from '../domain/accounts/password-resets.ts'
import { describePrincipal } from '../domain/accounts/principals.ts'
import { signup } from '../domain/accounts/signup.ts'
import { JsonAnswer, type Routes } from './route.ts'

type Dependencies = Pick<App, 'db' | 'log' | 'config'>

export function authRoutes(app: Dependencies): Routes<typeof auth> {
  return {
    me: (actor) => describePrincipal(app, actor),
    signup: async (caller, { body }) => welcome(await signup(app, caller, body)),
    login: async (caller, { body }) => welcome(await login(app, caller, body)),
    logout: async (actor) => {
      await logout(app, actor)
      return new JsonAnswer(undefined, {
        headers: { 'set-cookie': expiredSessionCookie(app.config) },
      })
    },
    switchOrganization: async (actor, { body }) =>
      describePrincipal(app, await switchOrganization(app, actor, body.organization_id)),
    listSessions: async (actor, { query }) => {
      const page = await listAuthSessions(app.db, actor, query)
      return { ...page, data: page.data.map((row) => show(actor, row)) }
    },
    revokeSession: async (actor, { params }) => {
      await revokeAuthSession(app, actor, params.auth_session_id)
    },
    changePassword: async (actor, { body }) => {
      await changePassword(app, actor, body)
    },
    requestPasswordReset: async (caller, { body }) => {
      await requestPasswordReset(app, caller, body)
      return {}
    },
    resetPassword: async (caller, { body }) => {
      await resetPassword(app, caller, body)
    },
  }

  async function welcome({ token, actor }: SignedIn) {
    const headers = { 'set-cookie': sessionCookie(app.config, token) }
    return new JsonAnswer(await describePrincipal(app, actor), { headers })
  }
}

type Row = Awaited<ReturnType<typeof listAuthSessions>>['data'][number]

function show(actor: UserActor, row: Row): AuthSession {
  return {
    ...row,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    current: row.id === actor.authSessionId,
  }
}
