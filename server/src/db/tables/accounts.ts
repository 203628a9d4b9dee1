import type {
  ApiKeyId,
  ApiKeyScope,
  AuditEvent,
  AuditEventId,
  AuditEventType,
  AuthSessionId,
  InvitationId,
  MembershipId,
  OrganizationId,
  Role,
  UserId,
} from '@computer/contract'
import type { Generated } from 'kysely'
import type { At } from './at.ts'

/** Users, organizations and their credentials. */
export type AccountsTables = {
  organizations: {
    id: OrganizationId
    name: string
    created_at: At
    deleted_at: Date | null
    label_keys: Generated<string[]>
    relabel_until: Date | null
  }
  users: {
    id: UserId
    /** In lower case. */
    email: string
    name: string
    password_hash: string | null
    /** Also set once the user is deleted. */
    disabled_at: Date | null
    created_at: At
    deleted_at: Date | null
  }
  memberships: {
    id: MembershipId
    organization_id: OrganizationId
    user_id: UserId
    role: Role
    created_at: At
  }
  api_keys: {
    id: ApiKeyId
    organization_id: OrganizationId
    name: string
    prefix: string
    secret_hash: Buffer
    scopes: ApiKeyScope[]
    created_by: UserId
    created_at: At
    last_used_at: Date | null
    expires_at: Date | null
    revoked_at: Date | null
  }
  gateway_tokens: {
    token_hash: Buffer
    api_key_id: ApiKeyId | null
    auth_session_id: AuthSessionId | null
    expires_at: Date
  }
  auth_sessions: {
    id: AuthSessionId
    user_id: UserId
    organization_id: OrganizationId
    token_hash: Buffer
    created_at: At
    last_used_at: At
    expires_at: Date
    revoked_at: Date | null
    address: string | null
    network: string | null
    user_agent: string | null
  }
  attempts: { key: Buffer; count: number; window_ends_at: Date }
  password_resets: {
    token_hash: Buffer
    user_id: UserId
    created_at: At
    expires_at: Date
    used_at: Date | null
  }
  login_links: {
    token_hash: Buffer
    user_id: UserId
    organization_id: OrganizationId
    created_at: At
    expires_at: Date
    used_at: Date | null
  }
  invitations: {
    id: InvitationId
    organization_id: OrganizationId
    email: string
    role: Role
    token_hash: Buffer
    invited_by: UserId
    created_at: At
    expires_at: Date
    accepted_at: Date | null
    revoked_at: Date | null
  }
  mails: {
    id: string
    recipient: string
    subject: string
    body: string
    created_at: At
    attempts: Generated<number>
    next_attempt_at: At
    last_error: string | null
  }
  audit_events: {
    id: AuditEventId
    organization_id: OrganizationId
    type: AuditEventType
    actor_type: 'user' | 'api_key' | 'operator' | null
    actor_id: string | null
    actor_name: string | null
    address: string | null
    target_type: string | null
    target_id: string | null
    target_name: string | null
    outcome: AuditEvent['outcome']
    message: string | null
    occurred_at: At
  }
  idempotency_keys: {
    id: Buffer
    body_hash: Buffer
    seed: string
    status: number | null
    sealed_response: Buffer | null
    running_until: Date
    created_at: At
  }
}
