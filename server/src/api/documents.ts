import { endpoints, openApiDocument } from '@computer/contract'
import type { FastifyInstance } from 'fastify'
import { createHash } from 'node:crypto'
import { renderReference } from './docs/reference.ts'
import { contentSecurityPolicy } from './security-headers.ts'

/** Serves the OpenAPI document and the reference page made from it. */
export function addDocumentRoutes(http: FastifyInstance, baseUrl: string): void {
  const document = openApiDocument(endpoints, { version: '0.1.0', url: baseUrl })
  const page = renderReference(document)
  const policy = contentSecurityPolicy(`style-src '${hashStyle(page)}'`)
  http.get('/v1/openapi.json', async () => document)
  http.get('/docs', async (_request, reply) =>
    reply.type('text/html; charset=utf-8').header('content-security-policy', policy).send(page),
  )
}

/** The policy allows the page's own style by its hash, and no other. */
function hashStyle(page: string): string {
  const style = /<style>(.*?)<\/style>/s.exec(page)?.[1] ?? ''
  return `sha256-${createHash('sha256').update(style).digest('base64')}`
}
