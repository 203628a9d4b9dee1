import type { OrganizationId, UserId } from '@computer/contract'
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { openAuthSession } from '../src/domain/accounts/auth-sessions.ts'
import { insertLoginLink } from '../src/domain/accounts/login-links.ts'
import { hashPassword } from '../src/domain/accounts/passwords.ts'
import { createToken, hashToken } from '../src/domain/accounts/tokens.ts'
import { goodPassword } from './browser.ts'
import type { TestServer } from './harness.ts'

/** A valid call of every endpoint of the group `auth`, by a user in an organization. */
export function authRequests(
  server: TestServer,
  me: { readonly userId: UserId; readonly organizationId: OrganizationId },
) {
  const { db } = server.app
  const none = async () => ({})
  const loginLink = async () => {
    const { id, personalId } = await server.signUp()
    const link = { userId: id, organizationId: personalId }
    return (await db.transaction().execute((tx) => insertLoginLink(tx, link))).token
  }
  return {
    me: none,
    logout: none,
    listSessions: none,
    signup: async () => ({
      body: { email: `${randomUUID()}@example.com`, password: goodPassword },
    }),
    login: async () => {
      const { email, password } = await server.signUp()
      return { body: { email, password } }
    },
    lookUpLoginLink: async () => ({ body: { token: await loginLink() } }),
    logInWithLink: async () => ({ body: { token: await loginLink() } }),
    switchOrganization: async () => ({ body: { organization_id: me.organizationId } }),
    revokeSession: async () => {
      const nowhere = { address: null, userAgent: null }
      const { actor } = await db
        .transaction()
        .execute((tx) => openAuthSession(tx, nowhere, me.userId, me.organizationId))
      return { ids: { auth_session_id: actor.authSessionId } }
    },
    deleteAccount: async () => {
      const { call: caller, password } = await server.signUp()
      return { body: { password }, caller }
    },
    changePassword: async () => {
      const password_hash = await hashPassword(goodPassword)
      await db.updateTable('users').set({ password_hash }).where('id', '=', me.userId).execute()
      return { body: { current_password: goodPassword, new_password: goodPassword } }
    },
    requestPasswordReset: async () => ({ body: { email: 'nobody@example.com' } }),
    resetPassword: async () => {
      const { id } = await server.signUp()
      const token = createToken('reset')
      const expires_at = sql<Date>`now() + interval '1 hour'`
      await db
        .insertInto('password_resets')
        .values({ token_hash: hashToken(token), user_id: id, expires_at })
        .execute()
      return { body: { token, password: goodPassword } }
    },
  }
}
