import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'

/**
 * By default browsers load nothing from a response, show it in no frame and do not sniff its type; a page
 * adds what it needs to the policy. There are no CORS headers, so scripts of other sites read nothing.
 * The headers are built once, not for each response as @fastify/helmet does.
 */
export function addSecurityHeaders(http: FastifyInstance, config: Pick<Config, 'baseUrl'>): void {
  const headers = {
    'content-security-policy': contentSecurityPolicy(),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    ...(config.baseUrl.startsWith('https:') && {
      'strict-transport-security': 'max-age=31536000',
    }),
  }
  http.addHook('onRequest', (_request, reply, done) => {
    void reply.headers(headers)
    done()
  })
}

/** A policy that forbids everything but the additions. */
export function contentSecurityPolicy(...additions: readonly string[]): string {
  const nothing = ['default-src', 'base-uri', 'form-action', 'frame-ancestors']
  return [...nothing.map((directive) => `${directive} 'none'`), ...additions].join('; ')
}
