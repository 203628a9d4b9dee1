import type { auth, AuthSession } from '@computer/contract'
import type { UserActor } from '../actor.ts'
import type { App } from '../app.ts'
import { expiredSessionCookies, sessionCookies } from '../http/cookies.ts'
import { deleteAccount } from '../domain/accounts/account-deletion.ts'
import {
  listAuthSessions,
  logout,
  revokeAuthSession,
  switchOrganization,
} from '../domain/accounts/auth-sessions.ts'
import { login, type SignedIn } from '../domain/accounts/login.ts'
import { logInWithLink, lookUpLoginLink } from '../domain/accounts/login-links.ts'
import { changePassword } from '../domain/accounts/password-change.ts'
import { requestPasswordReset, resetPassword } from '../domain/accounts/password-resets.ts'
import { describePrincipal } from '../domain/accounts/principals.ts'
import { signup } from '../domain/accounts/signup.ts'
import { JsonResponse, type Routes } from './route.ts'
import { pageToWire, rowToWire } from './to-wire.ts'

type Dependencies = Pick<App, 'db' | 'log' | 'config'>

export function authRoutes(app: Dependencies): Routes<typeof auth> {
  return {
    me: (actor) => describePrincipal(app, actor),
    signup: async (caller, { body }) => respondSignedIn(await signup(app, caller, body)),
    login: async (caller, { body }) => respondSignedIn(await login(app, caller, body)),
    lookUpLoginLink: async (caller, { body }) =>
      rowToWire(await lookUpLoginLink(app, caller, body.token)),
    logInWithLink: async (caller, { body }) =>
      respondSignedIn(await logInWithLink(app, caller, body)),
    logout: async (actor) => {
      await logout(app, actor)
      return respondSignedOut()
    },
    switchOrganization: async (actor, { body }) =>
      describePrincipal(app, await switchOrganization(app, actor, body.organization_id)),
    listSessions: async (actor, { query }) =>
      pageToWire(await listAuthSessions(app.db, actor, query), (row) => toWire(actor, row)),
    revokeSession: async (actor, { params }) => {
      await revokeAuthSession(app, actor, params.auth_session_id)
    },
    deleteAccount: async (actor, { body }) => {
      await deleteAccount(app, actor, body)
      return respondSignedOut()
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

  function respondSignedOut() {
    const headers = { 'set-cookie': expiredSessionCookies(app.config) }
    return new JsonResponse(undefined, { headers })
  }

  async function respondSignedIn({ token, actor }: SignedIn) {
    const headers = { 'set-cookie': sessionCookies(app.config, token) }
    return new JsonResponse(await describePrincipal(app, actor), { headers })
  }
}

type Row = Awaited<ReturnType<typeof listAuthSessions>>['data'][number]

function toWire(actor: UserActor, row: Row): AuthSession {
  return { ...rowToWire(row), current: row.id === actor.authSessionId }
}
