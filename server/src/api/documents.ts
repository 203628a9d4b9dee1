import { endpoints, openApiDocument } from '@computer/contract'
import type { FastifyInstance } from 'fastify'
import { createHash } from 'node:crypto'
import { lazily } from '../lazily.ts'
import { renderReference } from './docs/reference.ts'
import { contentSecurityPolicy } from './security-headers.ts'

/** Serves the OpenAPI document and the reference page made from it. The first call makes each of them. */
export function addDocumentRoutes(http: FastifyInstance, baseUrl: string): void {
  const document = lazily(() => openApiDocument(endpoints, { version: '0.1.0', url: baseUrl }))
  const reference = lazily(() => {
    const page = renderReference(document())
    return { page, policy: contentSecurityPolicy(`style-src '${hashStyle(page)}'`) }
  })
  http.get('/v1/openapi.json', async () => document())
  http.get('/docs', async (_request, reply) => {
    const { page, policy } = reference()
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', policy)
      .send(page)
  })
}

/** The policy allows the page's own style by its hash, and no other. */
function hashStyle(page: string): string {
  const style = /<style>(.*?)<\/style>/s.exec(page)?.[1] ?? ''
  return `sha256-${createHash('sha256').update(style).digest('base64')}`
}
