import { endpoints, openApiDocument } from '@computer/contract'
import type { FastifyInstance } from 'fastify'
import { renderReference } from './docs/reference.ts'

/** The OpenAPI document and the page made from it, the same for everybody. */
export function addDocumentRoutes(http: FastifyInstance, baseUrl: string): void {
  const document = openApiDocument(endpoints, { version: '0.1.0', url: baseUrl })
  const page = renderReference(document)
  http.get('/v1/openapi.json', async () => document)
  http.get('/docs', async (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
      .header('x-content-type-options', 'nosniff')
      .send(page),
  )
}
