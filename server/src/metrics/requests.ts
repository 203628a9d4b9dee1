import { Histogram, type Registry } from 'prom-client'

export type RequestMetrics = {
  /** `route` is the path with its parameters' names; undefined for a path that no route serves. */
  observe(answer: {
    readonly method: string
    readonly route: string | undefined
    readonly status: number
    readonly ms: number
  }): void
}

export function createRequestMetrics(registry: Registry): RequestMetrics {
  const durations = new Histogram({
    name: 'computer_http_request_duration_seconds',
    help: 'Durations of HTTP requests until their response was sent, by method, route and class of the status.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.025, 0.1, 0.25, 1, 2.5, 10, 60],
    registers: [registry],
  })
  return {
    observe({ method, route, status, ms }) {
      const known = route === undefined ? { method: 'any', route: 'none' } : { method, route }
      durations.observe({ ...known, status: `${Math.floor(status / 100)}xx` }, ms / 1000)
    },
  }
}
