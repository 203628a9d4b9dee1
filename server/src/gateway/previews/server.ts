import type { App } from '../../app.ts'
import type { PreviewDomain } from '../../domain/previews/hosts.ts'
import { GuestChannels } from '../../guest/channels.ts'
import { createCookieCache, createTargetCache } from './caches.ts'
import { ActiveRequests } from './active-requests.ts'
import { listen, type PreviewRequest } from './listener.ts'
import { sendPage } from './pages.ts'
import { serveRequest, type PreviewContext } from './serve.ts'
import { Traffic } from './traffic.ts'
import { TrustedProxies } from './trusted-proxies.ts'
import { PortConnections } from './port-connections.ts'

/*
 * Previews: published ports at hostnames of their own, on a listener on which nothing else answers. A
 * request goes through serve.ts once, top to bottom: is it well formed (refuse.ts), is its host a
 * preview's, may its sender see it (admission.ts), does the machine run. Then it is written anew to a
 * connection to the port (forward.ts, upgrade.ts, ports.ts), with the headers that may pass
 * (headers.ts). What is open while the preview is unpublished is cut off (activeRequests.ts).
 */

export type PreviewServer = {
  readonly port: number
  readonly traffic: Traffic
  close(): Promise<void>
}

/** What a visitor who reads nothing may have waiting here. */
const streamWindowBytes = 256 * 1024

export async function startPreviewServer(
  app: Pick<App, 'config' | 'db' | 'changes' | 'log' | 'driver'>,
  domain: PreviewDomain,
): Promise<PreviewServer> {
  // Sessions of their own, so that no visitor takes the room of a call to the machine.
  const channels = new GuestChannels(app.driver, { streamWindowBytes })
  const context: PreviewContext = {
    domain,
    targets: createTargetCache(app),
    cookies: createCookieCache(app),
    activeRequests: new ActiveRequests(app),
    traffic: new Traffic(app),
    proxies: new TrustedProxies(app.config.trustProxy),
    ports: new PortConnections(channels),
  }
  const { activeRequests, traffic } = context
  const take = (incoming: PreviewRequest) => {
    serveRequest(app, context, incoming).catch((error: unknown) => {
      app.log.error({ err: error }, 'a request to a preview failed')
      sendPage(incoming.response, 503, 'Try again shortly.', { 'retry-after': '2' })
    })
  }
  const stopWatching = watchChanges(app, context)
  const listener = await listen(app, domain, context.proxies, take)
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
      targets.forget((target) => target?.machine_id === id)
      if (activeRequests.has(({ target }) => target.machine_id === id)) activeRequests.look()
    }),
    changes.subscribe(() => {
      cookies.forget(() => true)
      activeRequests.look()
    }, 'principals'),
  ]
  return () => {
    for (const end of unsubscribe) end()
  }
}
