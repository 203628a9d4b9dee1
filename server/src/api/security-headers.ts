import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'

/**
 * What every answer tells browsers: load nothing from it, show it in no frame, guess no type. A page
 * says for itself what it needs. There is no word of CORS, so scripts of other sites read nothing.
 * They are put together once, not for each answer as the usual plugin does.
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

/** Nothing may be loaded but what a page adds to it. */
export function contentSecurityPolicy(...additions: readonly string[]): string {
  const nothing = ['default-src', 'base-uri', 'form-action', 'frame-ancestors']
  return [...nothing.map((directive) => `${directive} 'none'`), ...additions].join('; ')
}
