import type { MachineState } from '@computer/contract'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { App } from '../../app.ts'
import {
  labelOfHost,
  reservedPath,
  type PreviewDomain,
  type PreviewTarget,
} from '../../domain/previews/hosts.ts'
import { answerReserved } from './access.ts'
import { admit, isNavigation, signInRedirect } from './admission.ts'
import type { CookieCache, TargetCache } from './caches.ts'
import type { ActiveRequest, ActiveRequests } from './active-requests.ts'
import { forward, type ProxiedRequest } from './forward.ts'
import type { PreviewRequest } from './listener.ts'
import { sendNotFound, sendPage, sendRedirect } from './pages.ts'
import { validateRequest } from './validate-request.ts'
import type { Traffic } from '../traffic.ts'
import type { TrustedProxies } from './trusted-proxies.ts'
import { forwardUpgrade } from './upgrade.ts'
import type { PortConnections } from './port-connections.ts'

export type PreviewContext = {
  readonly domain: PreviewDomain
  readonly targets: TargetCache
  readonly cookies: CookieCache
  readonly activeRequests: ActiveRequests
  readonly traffic: Traffic
  readonly proxies: TrustedProxies
  readonly ports: PortConnections
}

/** Sockets that close after the response to a malformed request. */
const refusedSockets = new WeakSet<Socket>()

/**
 * All that happens to a request. A host has one valid spelling, checked before any lookup; the port
 * comes from the row. The state of the machine is revealed only to those who may see the preview.
 */
export async function serveRequest(
  app: Pick<App, 'db' | 'config'>,
  context: PreviewContext,
  incoming: PreviewRequest,
): Promise<void> {
  const { request, response } = incoming
  // After a malformed request, nothing on the socket can be trusted to be a request.
  if (refusedSockets.has(request.socket)) return
  const refusal = validateRequest(request)
  if (refusal) {
    refusedSockets.add(request.socket)
    return sendPage(response, refusal.status, refusal.text, { connection: 'close' })
  }
  const label = labelOfHost(context.domain, request.headers.host!)
  const target = label === null ? undefined : await context.targets.find(label)
  if (!target) return sendNotFound(response)
  if (request.url!.startsWith(reservedPath)) {
    return answerReserved(app, context.cookies, target, incoming)
  }
  const admission = await admit(context.cookies, target, request)
  if (!admission) return denyAccess(app.config.baseUrl, target, incoming)
  // Again, because it may have been unpublished meanwhile. Later changes abort the active request.
  const current = await context.targets.find(target.label)
  if (!current) return sendNotFound(response)
  if (current.state !== 'running') return sendNotRunning(response, current.state)
  proxy(context, incoming, current, admission.cookieHash)
}

function proxy(
  { activeRequests, traffic, proxies, ports }: PreviewContext,
  { request, response, upgrade }: PreviewRequest,
  target: PreviewTarget,
  cookieHash: Buffer | null,
): void {
  const ending = upgrade?.socket ?? response
  if (ending.destroyed) return
  const active: ActiveRequest = { target, cookieHash, abort: () => request.socket.destroy() }
  activeRequests.add(active)
  ending.once('close', () => activeRequests.remove(active))
  traffic.countRequest(target)
  const { machine_id: machineId, organization_id: organizationId } = target
  const machine = { machineId, organizationId }
  const proxied: ProxiedRequest = {
    target,
    request,
    response,
    host: request.headers.host!,
    client: proxies.clientOf(request),
    countServed: (bytes) => traffic.countServed(machine, bytes),
  }
  if (upgrade) forwardUpgrade(ports, proxied, upgrade)
  else forward(ports, proxied)
}

/** Redirects a person to sign in, and tells a program which credential it lacks. */
function denyAccess(
  baseUrl: string,
  target: PreviewTarget,
  { request, response }: PreviewRequest,
): void {
  if (isNavigation(request)) {
    const { location, cookie } = signInRedirect(baseUrl, target, request)
    return sendRedirect(response, location, [cookie])
  }
  const text =
    'This preview is private: sign in as a member of its organization, or send its secret.'
  sendPage(response, 401, text, { 'www-authenticate': 'Bearer' })
}

function sendNotRunning(response: ServerResponse, state: MachineState): void {
  if (state === 'creating' || state === 'starting') {
    const text = 'The machine behind this address is starting. Try again shortly.'
    return sendPage(response, 503, text, { 'retry-after': '5' })
  }
  sendPage(response, 503, 'The machine behind this address is not running.')
}
