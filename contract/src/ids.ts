import { z } from 'zod'

/** A prefix and the lower-case Crockford base-32 characters of a ULID (specification, Identifiers). */
function idOf<Prefix extends string>(prefix: Prefix, name: string) {
  return z
    .templateLiteral([`${prefix}_`, z.string().regex(/^[0-9a-z]{20,32}$/)], {
      error: `must be an id that begins with ${prefix}_`,
    })
    .meta({ id: name, example: `${prefix}_01kaj0v3m8q4t2x6y9z1b5c7d3` })
}

export const MachineId = idOf('mch', 'MachineId')
export type MachineId = z.infer<typeof MachineId>
export const OrganizationId = idOf('org', 'OrganizationId')
export type OrganizationId = z.infer<typeof OrganizationId>
export const ImageId = idOf('img', 'ImageId')
export type ImageId = z.infer<typeof ImageId>
export const SnapshotId = idOf('snp', 'SnapshotId')
export type SnapshotId = z.infer<typeof SnapshotId>
export const TemplateId = idOf('tpl', 'TemplateId')
export type TemplateId = z.infer<typeof TemplateId>
export const ApiKeyId = idOf('key', 'ApiKeyId')
export type ApiKeyId = z.infer<typeof ApiKeyId>
export const UserId = idOf('usr', 'UserId')
export type UserId = z.infer<typeof UserId>
export const SessionId = idOf('ses', 'SessionId')
export type SessionId = z.infer<typeof SessionId>
export const EventId = idOf('evt', 'EventId')
export type EventId = z.infer<typeof EventId>
export const MembershipId = idOf('mem', 'MembershipId')
export type MembershipId = z.infer<typeof MembershipId>
export const InvitationId = idOf('inv', 'InvitationId')
export type InvitationId = z.infer<typeof InvitationId>
/** Id of a browser session (specification, Browser sessions). Its credential is a separate secret. */
export const AuthSessionId = idOf('aus', 'AuthSessionId')
export type AuthSessionId = z.infer<typeof AuthSessionId>
export const AuditEventId = idOf('aud', 'AuditEventId')
export type AuditEventId = z.infer<typeof AuditEventId>
export const TerminalId = idOf('trm', 'TerminalId')
export type TerminalId = z.infer<typeof TerminalId>
export const ProcessId = idOf('prc', 'ProcessId')
export type ProcessId = z.infer<typeof ProcessId>
export const PreviewId = idOf('prv', 'PreviewId')
export type PreviewId = z.infer<typeof PreviewId>
export const BudgetId = idOf('bud', 'BudgetId')
export type BudgetId = z.infer<typeof BudgetId>

export const ActivityId = idOf('act', 'ActivityId')
export type ActivityId = z.infer<typeof ActivityId>

export const HelpRequestId = idOf('hlp', 'HelpRequestId')
export type HelpRequestId = z.infer<typeof HelpRequestId>

export const WebhookId = idOf('whk', 'WebhookId')
export type WebhookId = z.infer<typeof WebhookId>
export const WebhookDeliveryId = idOf('whd', 'WebhookDeliveryId')
export type WebhookDeliveryId = z.infer<typeof WebhookDeliveryId>

/** Id of a disk copy, on which snapshots and templates are based. Internal: in no API response. */
export type CaptureId = `cap_${string}`
