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
import { admit, isNavigation, toExchange } from './admission.ts'
import type { CookieCache, TargetCache } from './caches.ts'
import type { Exchange, Exchanges } from './exchanges.ts'
import { forward, type Visit } from './forward.ts'
import type { Arrival } from './listener.ts'
import { sendNotFound, sendPage, sendRedirect } from './pages.ts'
import { refuseRequest } from './refuse.ts'
import type { Traffic } from './traffic.ts'
import type { TrustedProxies } from './trusted-proxies.ts'
import { forwardUpgrade } from './upgrade.ts'
import type { Upstreams } from './upstreams.ts'

export type Parts = {
  readonly domain: PreviewDomain
  readonly targets: TargetCache
  readonly cookies: CookieCache
  readonly exchanges: Exchanges
  readonly traffic: Traffic
  readonly proxies: TrustedProxies
  readonly upstreams: Upstreams
}

/** Connections that end with the answer that is under way. */
const condemned = new WeakSet<Socket>()

/**
 * All that happens to a request. A host has one spelling, which is checked before anything is looked
 * up; the port is the row's. Whoever may not see a preview is not told how its machine is.
 */
export async function serveArrival(
  app: Pick<App, 'db' | 'config'>,
  parts: Parts,
  arrival: Arrival,
): Promise<void> {
  const { request, response } = arrival
  // Behind a request that was refused nothing is trusted to be one.
  if (condemned.has(request.socket)) return
  const refusal = refuseRequest(request)
  if (refusal) {
    condemned.add(request.socket)
    return sendPage(response, refusal.status, refusal.text, { connection: 'close' })
  }
  const label = labelOfHost(parts.domain, request.headers.host!)
  const target = label === null ? undefined : await parts.targets.find(label)
  if (!target) return sendNotFound(response)
  if (request.url!.startsWith(reservedPath)) {
    return answerReserved(app, parts.cookies, target, arrival)
  }
  const admission = await admit(parts.cookies, target, request)
  if (!admission) return turnAway(app.config.baseUrl, target, arrival)
  // Once more: it may have been unpublished meanwhile. What is open is cut off from now on.
  const current = await parts.targets.find(target.label)
  if (!current) return sendNotFound(response)
  if (current.state !== 'running') return sendResting(response, current.state)
  pass(parts, arrival, current, admission.cookieHash)
}

function pass(
  { exchanges, traffic, proxies, upstreams }: Parts,
  { request, response, upgrade }: Arrival,
  target: PreviewTarget,
  cookieHash: Buffer | null,
): void {
  const ending = upgrade?.socket ?? response
  if (ending.destroyed) return
  const exchange: Exchange = { target, cookieHash, cut: () => request.socket.destroy() }
  exchanges.add(exchange)
  ending.once('close', () => exchanges.remove(exchange))
  traffic.reached(target)
  const visit: Visit = {
    target,
    request,
    response,
    host: request.headers.host!,
    client: proxies.clientOf(request),
    served: (bytes) => traffic.served(target, bytes),
  }
  if (upgrade) forwardUpgrade(upstreams, visit, upgrade)
  else forward(upstreams, visit)
}

/** A person is sent to where members are known; a program is told what it lacks. */
function turnAway(baseUrl: string, target: PreviewTarget, { request, response }: Arrival): void {
  if (isNavigation(request)) {
    const { location, cookie } = toExchange(baseUrl, target, request)
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
