import { apiKeys } from './api-keys.ts'
import { activity } from './activity.ts'
import { auditEvents } from './audit-events.ts'
import { auth } from './auth.ts'
import { billing } from './billing.ts'
import { budgets } from './budgets.ts'
import { desktop } from './desktop.ts'
import type { Endpoint } from './endpoint.ts'
import { events } from './events.ts'
import { exec } from './exec.ts'
import { files } from './files.ts'
import { gateway } from './gateway.ts'
import { helpGuest } from './help-guest.ts'
import { helpRequests } from './help-requests.ts'
import { images } from './images.ts'
import { invitations } from './invitations.ts'
import { machines } from './machines.ts'
import { members } from './members.ts'
import { organizations } from './organizations.ts'
import { plans } from './plans.ts'
import { ports } from './ports.ts'
import { processes } from './processes.ts'
import { secrets } from './secrets.ts'
import { inputLease, sessions } from './sessions.ts'
import { snapshots } from './snapshots.ts'
import { templates } from './templates.ts'
import { terminals } from './terminals.ts'
import { usage } from './usage.ts'
import { webhooks } from './webhooks.ts'

export * from './api-keys.ts'
export * from './audit-event-types.ts'
export * from './activity.ts'
export * from './audit-events.ts'
export * from './auth.ts'
export * from './billing.ts'
export * from './budgets.ts'
export * from './desktop-actions.ts'
export * from './desktop.ts'
export * from './endpoint.ts'
export * from './errors.ts'
export * from './events.ts'
export * from './exec.ts'
export * from './files.ts'
export * from './gateway.ts'
export * from './guest-brief.ts'
export * from './guest-desktop.ts'
export * from './guest-files.ts'
export * from './guest-frames.ts'
export * from './guest-streams.ts'
export * from './guest-processes.ts'
export * from './guest-routes.ts'
export * from './guest-secrets.ts'
export * from './guest-terminals.ts'
export * from './guest.ts'
export * from './help-guest.ts'
export * from './help-requests.ts'
export * from './ids.ts'
export * from './images.ts'
export * from './invitations.ts'
export * from './keys.ts'
export * from './list.ts'
export * from './machines.ts'
export * from './members.ts'
export * from './openapi.ts'
export * from './organizations.ts'
export * from './permissions.ts'
export * from './plans.ts'
export * from './ports.ts'
export * from './processes.ts'
export * from './screen-pointers.ts'
export * from './screenshots.ts'
export * from './secrets.ts'
export * from './sessions.ts'
export * from './snapshots.ts'
export * from './templates.ts'
export * from './terminals.ts'
export * from './text.ts'
export * from './tiles.ts'
export * from './usage.ts'
export * from './webhooks.ts'

/** Every endpoint by its resource. The server mounts these and OpenAPI documents them. */
export const endpoints = {
  auth,
  organizations,
  members,
  invitations,
  api_keys: apiKeys,
  audit_events: auditEvents,
  machines,
  snapshots,
  templates,
  images,
  desktop,
  exec,
  files,
  terminals,
  processes,
  ports,
  secrets,
  sessions,
  input_lease: inputLease,
  events,
  activity,
  gateway,
  plans,
  usage,
  billing,
  budgets,
  webhooks,
  help_requests: helpRequests,
  help_guest: helpGuest,
} as const satisfies Record<string, Record<string, Endpoint>>
