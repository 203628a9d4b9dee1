import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { ApiKeyId, AuthSessionId, OrganizationId, UserId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { ApiKeyScope, Permission, Role } from './permissions.ts'
import { NoContent, text, Timestamp } from './text.ts'

export const Principal = z
  .object({
    user: z.object({ id: UserId, email: z.string(), name: z.string() }).nullable(),
    api_key: z.object({ id: ApiKeyId, name: z.string(), scopes: z.array(ApiKeyScope) }).nullable(),
    organization: z.object({ id: OrganizationId, name: z.string(), plan_id: z.string() }),
    role: Role.nullable(),
    permissions: z.array(Permission),
    organizations: z.array(z.object({ id: OrganizationId, name: z.string(), role: Role })),
    gateway_url: z.string(),
  })
  .meta({ id: 'Principal' })
export type Principal = z.infer<typeof Principal>

/** Compared without regard to case. */
export const Email = z.email('must be an email address').max(254)
export const Password = text(256, 10)
export const PersonName = text(100, 1)

export const LoginLink = z
  .object({
    organization: z.object({ name: z.string() }).describe('The organization to sign in to.'),
    account: z
      .object({ email: z.string(), name: z.string() })
      .nullable()
      .describe('The account to sign in as. Null: nobody has set it up yet.'),
    expires_at: Timestamp,
  })
  .meta({ id: 'LoginLink' })
export type LoginLink = z.infer<typeof LoginLink>

export const AuthSession = z
  .object({
    id: AuthSessionId,
    organization_id: OrganizationId.describe('The organization that the session acts in.'),
    created_at: Timestamp,
    last_used_at: Timestamp,
    expires_at: Timestamp.describe('30 days after the last use.'),
    address: z.string().nullable().describe('The IP address that last used the session.'),
    user_agent: z.string().nullable(),
    current: z.boolean().describe('True for the session that makes this request.'),
  })
  .meta({ id: 'AuthSession' })
export type AuthSession = z.infer<typeof AuthSession>

export const auth = {
  me: endpoint({
    method: 'GET',
    path: '/v1/auth/me',
    summary: 'Get the caller, the organization it acts in, and its permissions.',
    requires: 'member',
    status: 200,
    response: Principal,
  }),
  signup: endpoint({
    method: 'POST',
    path: '/v1/auth/signup',
    summary: 'Create an account with a personal organization, and sign in.',
    requires: 'public',
    body: z.strictObject({
      email: Email,
      password: Password,
      name: PersonName.optional().describe('Default: the part of the email before the @.'),
      invitation_token: text(200, 1)
        .optional()
        .describe(
          'Token of an invitation for this email. The session then acts in the inviting organization.',
        ),
    }),
    status: 201,
    response: Principal,
  }),
  login: endpoint({
    method: 'POST',
    path: '/v1/auth/login',
    summary: 'Sign in. Sets the cookie computer_session.',
    requires: 'public',
    body: z.strictObject({ email: Email, password: text(256, 1) }),
    status: 200,
    response: Principal,
  }),
  lookUpLoginLink: endpoint({
    method: 'POST',
    path: '/v1/auth/login-link/lookup',
    summary: 'Get what a sign-in link is for, without using it up.',
    requires: 'public',
    body: z.strictObject({ token: text(200, 1) }),
    status: 200,
    response: LoginLink,
  }),
  logInWithLink: endpoint({
    method: 'POST',
    path: '/v1/auth/login-link',
    summary:
      'Sign in with the token of a sign-in link, which works once. Sets the cookie computer_session.',
    requires: 'public',
    body: z.strictObject({
      token: text(200, 1),
      account: z
        .strictObject({
          email: Email,
          password: Password,
          name: PersonName.optional().describe('Default: the part of the email before the @.'),
        })
        .optional()
        .describe('Required if the link has no account yet, refused if it has one.'),
    }),
    status: 200,
    response: Principal,
  }),
  logout: endpoint({
    method: 'POST',
    path: '/v1/auth/logout',
    summary: 'Sign out: revoke the browser session that makes this request.',
    requires: 'user',
    status: 204,
    response: NoContent,
  }),
  switchOrganization: endpoint({
    method: 'POST',
    path: '/v1/auth/switch-organization',
    summary: 'Change the organization that this browser session acts in.',
    requires: 'user',
    body: z.strictObject({ organization_id: OrganizationId }),
    status: 200,
    response: Principal,
  }),
  listSessions: endpoint({
    method: 'GET',
    path: '/v1/auth/sessions',
    summary: 'List your active browser sessions, newest first.',
    requires: 'user',
    query: PageQuery,
    status: 200,
    response: pageOf(AuthSession),
  }),
  revokeSession: endpoint({
    method: 'DELETE',
    path: '/v1/auth/sessions/{auth_session_id}',
    summary: 'Revoke one of your browser sessions.',
    requires: 'user',
    params: z.object({ auth_session_id: AuthSessionId }),
    status: 204,
    response: NoContent,
    audits: 'auth.session_revoked',
  }),
  deleteAccount: endpoint({
    method: 'DELETE',
    path: '/v1/auth/me',
    summary:
      'Delete your account, with the organizations that have no other member. They must have no machines, snapshots or templates left.',
    requires: 'user',
    body: z.strictObject({ password: text(256, 1).describe('Your current password.') }),
    status: 204,
    response: NoContent,
    audits: 'user.deleted',
  }),
  changePassword: endpoint({
    method: 'POST',
    path: '/v1/auth/password',
    summary: 'Change your password. All of your other browser sessions end.',
    requires: 'user',
    body: z.strictObject({ current_password: text(256, 1), new_password: Password }),
    status: 204,
    response: NoContent,
    audits: 'auth.password_changed',
  }),
  requestPasswordReset: endpoint({
    method: 'POST',
    path: '/v1/auth/password-reset',
    summary:
      'Email a password reset link. The response is the same whether or not the account exists.',
    requires: 'public',
    body: z.strictObject({ email: Email }),
    status: 202,
    response: z.object({}),
  }),
  resetPassword: endpoint({
    method: 'POST',
    path: '/v1/auth/password-reset/confirm',
    summary:
      'Set a new password with the token of a reset link. All browser sessions of the user end.',
    requires: 'public',
    body: z.strictObject({ token: text(200, 1), password: Password }),
    status: 204,
    response: NoContent,
  }),
}
