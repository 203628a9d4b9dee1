import type { App } from '../../app.ts'
import type { PreviewDomain } from '../../domain/previews/hosts.ts'
import { GuestChannels } from '../../guest/channels.ts'
import { CookieCache, TargetCache } from './caches.ts'
import { ActiveRequests } from './active-requests.ts'
import { listen, type PreviewRequest } from './listener.ts'
import { sendPage } from './pages.ts'
import { serveRequest, type PreviewContext } from './serve.ts'
import { TrustedProxies } from './trusted-proxies.ts'
import { PortConnections } from './port-connections.ts'
import { Traffic } from '../traffic.ts'

/*
 * Previews: published ports at their own hostnames, on a listener of their own. Read serve.ts from top
 * to bottom to follow a request: is it well formed (validate-request.ts), is its host a preview, may the
 * client see it (admission.ts), is the machine running. It is then rewritten to a connection to the
 * port (forward.ts, upgrade.ts, port-connections.ts) with filtered headers (headers.ts). Requests that
 * are open when the preview is unpublished are aborted (active-requests.ts).
 */

type PreviewServer = {
  readonly port: number
  readonly traffic: Traffic
  close(): Promise<void>
}

/** Upper bound on what is buffered here for a client that does not read. */
const streamWindowBytes = 256 * 1024

export async function startPreviewServer(
  app: Pick<App, 'config' | 'db' | 'changes' | 'log' | 'hosts'>,
  domain: PreviewDomain,
): Promise<PreviewServer> {
  // Separate channels, so that preview traffic never delays calls to the machine.
  const channels = new GuestChannels(app.hosts, { streamWindowBytes })
  const context: PreviewContext = {
    domain,
    targets: new TargetCache(app),
    cookies: new CookieCache(app),
    activeRequests: new ActiveRequests(app),
    traffic: new Traffic(app),
    proxies: new TrustedProxies(app.config.trustProxy),
    ports: new PortConnections(channels),
  }
  const { activeRequests, traffic } = context
  const handle = (incoming: PreviewRequest) => {
    serveRequest(app, context, incoming).catch((error: unknown) => {
      app.log.error({ err: error }, 'could not serve a request to a preview')
      sendPage(incoming.response, 503, 'Try again shortly.', { 'retry-after': '2' })
    })
  }
  const stopWatching = watchChanges(app, context)
  const listener = await listen(app, domain, context.proxies, handle)
  return {
    port: listener.port,
    traffic,
    async close() {
      stopWatching()
      await listener.close()
      activeRequests[Symbol.dispose]()
      await traffic[Symbol.asyncDispose]()
      await channels[Symbol.asyncDispose]()
    },
  }
}

function watchChanges(
  { changes }: Pick<App, 'changes'>,
  { targets, cookies, activeRequests }: PreviewContext,
): () => void {
  const unsubscribe = [
    changes.subscribe((id) => {
      targets.invalidateMachine(id)
      if (activeRequests.some(({ target }) => target.machine_id === id)) activeRequests.recheck()
    }),
    changes.subscribe(() => {
      cookies.invalidate()
      activeRequests.recheck()
    }, 'principals'),
  ]
  return () => {
    for (const end of unsubscribe) end()
  }
}
