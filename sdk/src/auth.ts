import type { CallOptions } from './options.ts'
import type { List, PageOptions } from './pages.ts'
import type { Body, Transport } from './transport.ts'
import type { AuthSession, LoginLink, Principal } from './wire/records.ts'

/** Sign-in for browser pages, by session cookie. Programs use an API key instead. */
export class Auth {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** The caller, its organization and its permissions. */
  async me(options: CallOptions = {}): Promise<Principal> {
    return this.#transport.call('GET /v1/auth/me', {}, options)
  }

  async signUp(body: Body<'POST /v1/auth/signup'>, options: CallOptions = {}): Promise<Principal> {
    return this.#transport.call('POST /v1/auth/signup', { body }, options)
  }

  async logIn(body: Body<'POST /v1/auth/login'>, options: CallOptions = {}): Promise<Principal> {
    return this.#transport.call('POST /v1/auth/login', { body }, options)
  }

  /** What a sign-in link is for, without using it up. Without an account, it asks for one. */
  async lookUpLoginLink(token: string, options: CallOptions = {}): Promise<LoginLink> {
    return this.#transport.call('POST /v1/auth/login-link/lookup', { body: { token } }, options)
  }

  /** Signs in with the token of a sign-in link, which works once. */
  async logInWithLink(
    body: Body<'POST /v1/auth/login-link'>,
    options: CallOptions = {},
  ): Promise<Principal> {
    return this.#transport.call('POST /v1/auth/login-link', { body }, options)
  }

  async logOut(options: CallOptions = {}): Promise<void> {
    await this.#transport.call('POST /v1/auth/logout', {}, options)
  }

  async switchOrganization(organizationId: string, options: CallOptions = {}): Promise<Principal> {
    const body = { organizationId }
    return this.#transport.call('POST /v1/auth/switch-organization', { body }, options)
  }

  /** Your valid browser sessions, newest first. */
  listSessions({ signal, ...query }: PageOptions & CallOptions = {}): List<AuthSession> {
    return this.#transport.list('GET /v1/auth/sessions', { query }, { signal })
  }

  async revokeSession(authSessionId: string, options: CallOptions = {}): Promise<void> {
    const params = { authSessionId }
    await this.#transport.call('DELETE /v1/auth/sessions/{auth_session_id}', { params }, options)
  }

  /** Deletes your account, with the organizations that have no other member. It cannot be undone. */
  async deleteAccount(body: Body<'DELETE /v1/auth/me'>, options: CallOptions = {}): Promise<void> {
    await this.#transport.call('DELETE /v1/auth/me', { body }, options)
  }

  async changePassword(
    body: Body<'POST /v1/auth/password'>,
    options: CallOptions = {},
  ): Promise<void> {
    await this.#transport.call('POST /v1/auth/password', { body }, options)
  }

  /** Sends a reset link by email if the address has an account. */
  async requestPasswordReset(email: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.call('POST /v1/auth/password-reset', { body: { email } }, options)
  }

  async resetPassword(
    body: Body<'POST /v1/auth/password-reset/confirm'>,
    options: CallOptions = {},
  ): Promise<void> {
    await this.#transport.call('POST /v1/auth/password-reset/confirm', { body }, options)
  }
}
