import { endpoints, type AuditEventType } from '@computer/contract'
import type { FastifyInstance } from 'fastify'
import type { Actor } from '../actor.ts'
import type { App } from '../app.ts'
import { authenticate, authenticateGuest, callerOf } from '../http/authenticate.ts'
import { auditedBy, noteAudit } from '../domain/accounts/audit-events.ts'
import { addHealthRoutes } from '../http/health.ts'
import { activityRoutes } from './activity.ts'
import { apiKeyRoutes } from './api-keys.ts'
import { auditEventRoutes } from './audit-events.ts'
import { authRoutes } from './auth.ts'
import { billingRoutes } from './billing.ts'
import { budgetRoutes } from './budgets.ts'
import { addDashboard } from './dashboard.ts'
import { desktopRoutes } from './desktop.ts'
import { addDocumentRoutes } from './documents.ts'
import { addDownloadRoutes } from './downloads.ts'
import { eventRoutes } from './events.ts'
import { execRoutes } from './exec.ts'
import { fileRoutes } from './files.ts'
import { createHttp } from '../http/server.ts'
import type { ApiError } from '../errors.ts'
import { refuseForeignOrigin } from '../http/origins.ts'
import { runOncePerKey } from './idempotency.ts'
import { gatewayTokenRoutes } from './gateway-tokens.ts'
import { helpGuestRoutes } from './help-guest.ts'
import { helpRequestRoutes } from './help-requests.ts'
import { imageRoutes } from './images.ts'
import { invitationRoutes } from './invitations.ts'
import { machineRoutes } from './machines.ts'
import { memberRoutes } from './members.ts'
import { organizationRoutes } from './organizations.ts'
import { portRoutes } from './ports.ts'
import { addPaymentWebhooks } from './payment-webhooks.ts'
import { planRoutes } from './plans.ts'
import { addPreviewExchange } from './preview-exchange.ts'
import { processRoutes } from './processes.ts'
import * as recorders from './recorders.ts'
import { mount, type Authenticate, type RouteHooks } from './route.ts'
import { addSecurityHeaders } from './security-headers.ts'
import { secretRoutes } from './secrets.ts'
import { inputLeaseRoutes, sessionRoutes } from './sessions.ts'
import { snapshotRoutes } from './snapshots.ts'
import { templateRoutes } from './templates.ts'
import { terminalRoutes } from './terminals.ts'
import { usageRoutes } from './usage.ts'
import { webhookRoutes } from './webhooks.ts'

/** The HTTP API of an App. Tests may pass their own authentication and clients. */
export function createApi(
  app: App,
  options: {
    readonly authenticate?: Authenticate
    readonly downloadsDir?: string
    readonly dashboardDir?: string
  } = {},
): FastifyInstance {
  const http = createHttp(app)
  http.decorateRequest('organizationId')
  const identify = options.authenticate ?? ((request) => authenticate(app, request))
  const hooks: RouteHooks = {
    async authenticate(request) {
      const actor = await identify(request)
      request.organizationId = actor.organizationId
      return actor
    },
    async authenticateGuest(request) {
      const actor = await authenticateGuest(app, request)
      request.organizationId = actor.organizationId
      return actor
    },
    admit(request) {
      refuseForeignOrigin(app.config, request)
      return callerOf(request)
    },
    runOnce: runOncePerKey(app),
    activity: app.activity,
    auditRefusal: (actor, type, refusal) => auditRefusal(app, actor, type, refusal),
  }
  // Writes to these may change who may do what.
  const accountHooks: RouteHooks = { ...hooks, onWrite: () => app.principals.invalidate() }
  addSecurityHeaders(http, app.config)
  addDashboard(http, app.config, options.dashboardDir)
  addHealthRoutes(http, app)
  addDocumentRoutes(http, app.config.baseUrl)
  addDownloadRoutes(http, app.config, options.downloadsDir)
  addPreviewExchange(http, app)
  mount(http, accountHooks, endpoints.auth, authRoutes(app))
  mount(http, accountHooks, endpoints.organizations, organizationRoutes(app))
  mount(http, accountHooks, endpoints.members, memberRoutes(app))
  mount(http, accountHooks, endpoints.invitations, invitationRoutes(app))
  mount(http, hooks, endpoints.audit_events, auditEventRoutes(app))
  mount(http, hooks, endpoints.machines, machineRoutes(app))
  mount(http, hooks, endpoints.snapshots, snapshotRoutes(app))
  mount(http, hooks, endpoints.templates, templateRoutes(app))
  mount(http, hooks, endpoints.images, imageRoutes(app))
  mount(http, hooks, endpoints.desktop, desktopRoutes(app), recorders.desktopRecorders)
  mount(http, hooks, endpoints.exec, execRoutes(app), recorders.execRecorders)
  mount(http, hooks, endpoints.files, fileRoutes(app), recorders.fileRecorders)
  mount(http, hooks, endpoints.terminals, terminalRoutes(app), recorders.terminalRecorders)
  mount(http, hooks, endpoints.processes, processRoutes(app), recorders.processRecorders)
  mount(http, hooks, endpoints.ports, portRoutes(app), recorders.portRecorders)
  mount(http, hooks, endpoints.secrets, secretRoutes(app), recorders.secretRecorders)
  mount(http, hooks, endpoints.sessions, sessionRoutes(app))
  mount(http, hooks, endpoints.input_lease, inputLeaseRoutes(app))
  mount(http, hooks, endpoints.events, eventRoutes(app))
  mount(http, hooks, endpoints.activity, activityRoutes(app))
  mount(http, hooks, endpoints.gateway, gatewayTokenRoutes(app))
  mount(http, hooks, endpoints.plans, planRoutes(app))
  mount(http, hooks, endpoints.usage, usageRoutes(app))
  mount(http, hooks, endpoints.billing, billingRoutes(app))
  mount(http, hooks, endpoints.budgets, budgetRoutes(app))
  mount(http, hooks, endpoints.webhooks, webhookRoutes(app))
  mount(http, hooks, endpoints.help_requests, helpRequestRoutes(app))
  mount(http, hooks, endpoints.help_guest, helpGuestRoutes(app))
  addPaymentWebhooks(http, app)
  mount(http, accountHooks, endpoints.api_keys, apiKeyRoutes(app))
  return http
}

/**
 * Unauthenticated calls belong to no organization, so they are not audited. A failed audit write must
 * not change the response.
 */
async function auditRefusal(
  app: Pick<App, 'db' | 'log'>,
  actor: Actor,
  type: AuditEventType,
  { code, message, retryAfter }: ApiError,
): Promise<void> {
  // A call that the client is asked to retry is not refused yet.
  if (code === 'unauthenticated' || retryAfter !== undefined) return
  const outcome = code === 'permission_denied' ? 'denied' : 'failed'
  try {
    await noteAudit(app.db, { ...auditedBy(actor), type, outcome, message })
  } catch (error) {
    app.log.error({ err: error }, 'could not write a refused call to the audit log')
  }
}
