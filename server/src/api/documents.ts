import { endpoints, openApiDocument } from '@computer/contract'
import type { FastifyInstance } from 'fastify'
import { createHash } from 'node:crypto'
import { plainPage } from '../http/plain-page.ts'
import { renderReference } from './docs/reference.ts'
import { contentSecurityPolicy } from './security-headers.ts'

/** Serves the OpenAPI document, the reference page made from it, and a page that leads people there. */
export function addDocumentRoutes(http: FastifyInstance, baseUrl: string): void {
  const document = openApiDocument(endpoints, { version: '0.1.0', url: baseUrl })
  const page = renderReference(document)
  const policy = contentSecurityPolicy(`style-src '${hashStyle(page)}'`)
  http.get('/v1/openapi.json', async () => document)
  http.get('/docs', async (_request, reply) =>
    reply.type('text/html; charset=utf-8').header('content-security-policy', policy).send(page),
  )
  http.get('/', async (request, reply) => {
    void reply.header('vary', 'accept')
    if (!request.headers.accept?.includes('text/html')) return reply.callNotFound()
    return reply.type('text/html; charset=utf-8').send(welcome)
  })
}

/** For a person who opens the address of the API in a browser. */
const welcome = plainPage(
  'Computer',
  'This server gives agents and people persistent Linux computers, through an HTTP API. It is driven by programs: the command line, the TypeScript SDK, an MCP server, or your own.',
  [
    { to: '/docs', text: 'API reference' },
    { to: '/v1/openapi.json', text: 'OpenAPI document' },
    {
      to: '/install.sh',
      text: 'Installer of the command line: curl -fsS ADDRESS/install.sh | bash',
    },
  ],
)

/** The policy allows the page's own style by its hash, and no other. */
function hashStyle(page: string): string {
  const style = /<style>(.*?)<\/style>/s.exec(page)?.[1] ?? ''
  return `sha256-${createHash('sha256').update(style).digest('base64')}`
}
