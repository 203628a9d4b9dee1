import { z } from 'zod'

/** The audit log records sign-ins and every change of access. */
export const AuditEventType = z
  .enum([
    'auth.signed_up',
    'auth.signed_in',
    'auth.sign_in_failed',
    'auth.signed_out',
    'auth.session_revoked',
    'auth.password_changed',
    'auth.password_reset_requested',
    'auth.password_reset',
    'auth.login_link_created',
    'user.disabled',
    'user.enabled',
    'user.deleted',
    'organization.created',
    'organization.renamed',
    'organization.plan_changed',
    'organization.entered',
    'organization.deleted',
    'billing.plan_chosen',
    'billing.portal_opened',
    'member.added',
    'member.role_changed',
    'member.removed',
    'member.left',
    'invitation.created',
    'invitation.revoked',
    'invitation.accepted',
    'api_key.created',
    'api_key.revoked',
    'port.published',
    'port.unpublished',
    'secret.stored',
    'secret.deleted',
  ])
  .meta({ id: 'AuditEventType' })
export type AuditEventType = z.infer<typeof AuditEventType>
