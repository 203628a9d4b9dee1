import type { AuditEvent, AuditEventType } from '@computer/sdk'

/**
 * What an entry is about, as a noun: it may have been denied. The link is of a server that prints sign-in
 * links.
 */
export const auditWords: Readonly<Record<AuditEventType, string>> = {
  'auth.signed_up': 'Sign-up',
  'auth.signed_in': 'Sign-in',
  'auth.sign_in_failed': 'Failed sign-in',
  'auth.signed_out': 'Sign-out',
  'auth.session_revoked': 'Browser signed out',
  'auth.password_changed': 'Password change',
  'auth.password_reset_requested': 'Password reset requested',
  'auth.password_reset': 'Password reset',
  'auth.login_link_created': 'Sign-in link printed',
  'user.disabled': 'Account disabled',
  'user.enabled': 'Account enabled',
  'user.deleted': 'Account deletion',
  'organization.created': 'New organization',
  'organization.renamed': 'New name',
  'organization.plan_changed': 'Plan change',
  'organization.labels_changed': 'Change of usage labels',
  'organization.state_changed': 'Change of the billing state',
  'organization.bill_adjusted': 'Correction of the bill',
  'billing.plan_chosen': 'Plan chosen',
  'billing.portal_opened': 'Payment page opened',
  'organization.entered': 'Organization opened',
  'organization.deleted': 'Deletion of the organization',
  'member.added': 'New member',
  'member.role_changed': 'Role change',
  'member.removed': 'Removal of a member',
  'member.left': 'Member left',
  'invitation.created': 'Invitation',
  'invitation.revoked': 'Revocation of an invitation',
  'invitation.accepted': 'Invitation accepted',
  'api_key.created': 'New API key',
  'api_key.revoked': 'Revocation of an API key',
  'port.published': 'Publication of a port',
  'port.unpublished': 'End of a published port',
  'secret.stored': 'Secret stored',
  'budget.created': 'New budget',
  'budget.updated': 'Budget change',
  'budget.deleted': 'Deletion of a budget',
  'secret.deleted': 'Deletion of a secret',
  'webhook.created': 'New webhook',
  'webhook.updated': 'Change of a webhook',
  'webhook.deleted': 'Deletion of a webhook',
}

export const outcomeWords: Readonly<Record<AuditEvent['outcome'], string>> = {
  succeeded: 'Done',
  denied: 'Denied',
  failed: 'Failed',
}

export const actorWords: Readonly<Record<NonNullable<AuditEvent['actor']>['type'], string>> = {
  user: 'person',
  api_key: 'API key',
  operator: 'operator of the server',
}

/** The types of targets, which are open; an unknown one is shown as it is. */
export function targetWord(type: string): string {
  const words: Readonly<Record<string, string>> = {
    api_key: 'API key',
    auth_session: 'browser',
    user: 'person',
  }
  return (Object.hasOwn(words, type) && words[type]) || type.replaceAll('_', ' ')
}
