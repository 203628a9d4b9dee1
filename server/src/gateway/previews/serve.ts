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
import { admit, isNavigation, memberRedirect } from './admission.ts'
import type { CookieCache, TargetCache } from './caches.ts'
import type { ActiveRequest, ActiveRequests } from './active-requests.ts'
import { forward, type ProxiedRequest } from './forward.ts'
import type { PreviewRequest } from './listener.ts'
import { sendNotFound, sendPage, sendRedirect } from './pages.ts'
import { validateRequest } from './validate-request.ts'
import type { Traffic } from './traffic.ts'
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

/** OpenConnections that end with the answer that is under way. */
const refusedSockets = new WeakSet<Socket>()

/**
 * All that happens to a request. A host has one spelling, which is checked before anything is looked
 * up; the port is the row's. Whoever may not see a preview is not told how its machine is.
 */
export async function serveRequest(
  app: Pick<App, 'db' | 'config'>,
  context: PreviewContext,
  incoming: PreviewRequest,
): Promise<void> {
  const { request, response } = incoming
  // Behind a request that was refused nothing is trusted to be one.
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
  // Once more: it may have been unpublished meanwhile. What is open is cut off from now on.
  const current = await context.targets.find(target.label)
  if (!current) return sendNotFound(response)
  if (current.state !== 'running') return sendResting(response, current.state)
  pass(context, incoming, current, admission.cookieHash)
}

function pass(
  { activeRequests, traffic, proxies, ports }: PreviewContext,
  { request, response, upgrade }: PreviewRequest,
  target: PreviewTarget,
  cookieHash: Buffer | null,
): void {
  const ending = upgrade?.socket ?? response
  if (ending.destroyed) return
  const active: ActiveRequest = { target, cookieHash, cut: () => request.socket.destroy() }
  activeRequests.add(active)
  ending.once('close', () => activeRequests.remove(active))
  traffic.reached(target)
  const proxied: ProxiedRequest = {
    target,
    request,
    response,
    host: request.headers.host!,
    client: proxies.clientOf(request),
    served: (bytes) => traffic.served(target, bytes),
  }
  if (upgrade) forwardUpgrade(ports, proxied, upgrade)
  else forward(ports, proxied)
}

/** A person is sent to where members are known; a program is told what it lacks. */
function denyAccess(
  baseUrl: string,
  target: PreviewTarget,
  { request, response }: PreviewRequest,
): void {
  if (isNavigation(request)) {
    const { location, cookie } = memberRedirect(baseUrl, target, request)
    return sendRedirect(response, location, [cookie])
  }
  const text = 'Members of its organization may see it, and who has its secret.'
  sendPage(response, 401, text, { 'www-authenticate': 'Bearer' })
}

function sendResting(response: ServerResponse, state: MachineState): void {
  if (state === 'creating' || state === 'starting') {
    const text = 'The machine behind this address is starting. Try again shortly.'
    return sendPage(response, 503, text, { 'retry-after': '5' })
  }
  sendPage(response, 503, 'The machine behind this address is not running.')
}
