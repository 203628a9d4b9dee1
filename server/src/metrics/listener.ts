import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { collectDefaultMetrics } from 'prom-client'
import type { App } from '../app.ts'

/** The roles of processes, in the order of their ports. */
export const roles = ['api', 'gateway', 'worker'] as const
export type Role = (typeof roles)[number]

/** A scraper, and an operator who looks. */
const maxConnections = 16

/** How often the delay of the event loop is sampled. Each sample wakes the process. */
const eventLoopSampleMs = 100

export type MetricsListener = AsyncDisposable & { readonly port: number }

/** The port of a role's metrics; null if the server has none. */
export function metricsPort(
  { metricsPort: first }: Pick<App['config'], 'metricsPort'>,
  role: Role,
): number | null {
  return first === 0 ? null : first + roles.indexOf(role)
}

/**
 * Serves the metrics of this process at `/metrics`, with those of Node itself, on a listener of their own. A process
 * whose port is taken works on without it.
 */
export async function listenForMetrics(
  app: Pick<App, 'config' | 'log' | 'metrics'>,
  port: number,
): Promise<MetricsListener | null> {
  const { registry } = app.metrics
  const answer = async (path: string, response: ServerResponse) => {
    if (path !== '/metrics') return end(response, 404, 'text/plain', 'see /metrics\n')
    end(response, 200, registry.contentType, await registry.metrics())
  }
  const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
    const { method, url = '' } = request
    const path = method === 'GET' ? url.split('?', 1)[0]! : ''
    answer(path, response).catch((error: unknown) => {
      app.log.error({ err: error }, 'could not collect the metrics')
      end(response, 500, 'text/plain', 'the metrics could not be collected; see the log\n')
    })
  })
  server.maxConnections = maxConnections
  const { metricsBind: host } = app.config
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    const message = 'cannot serve metrics; set COMPUTER_METRICS_PORT to a port that is free'
    app.log.error({ err: error, host, port }, message)
    return null
  }
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: eventLoopSampleMs })
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function end(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type })
  response.end(body)
}
