import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fileURLToPath } from 'node:url'
import type { Config } from '../config.ts'
import { plainPage } from '../http/plain-page.ts'
import { isUnchanged, negotiateEncoding } from '../http/negotiation.ts'
import { lazily } from '../lazily.ts'
import { readDashboard, withMeta, type DashboardFile } from './dashboard-files.ts'
import { contentSecurityPolicy } from './security-headers.ts'

/** Built by the set-up from this checkout, so the dashboard is of the version of its server. */
const builtDir = fileURLToPath(new URL('../../../dashboard/dist/', import.meta.url))

/** Takeover links lead there. */
const guestPath = '/help'

/** The API's paths as a client may mistake them, which must not pass for a page. */
const otherVersion = /^\/v\d+(\/|$)/i

/**
 * Serves the dashboard at every path that no route takes. Its pages have paths of their own, which only
 * its router knows, so each of them gets the same document. Register it before the routes: a path that
 * begins like one of theirs is never a page, and keeps the error of the API. The guest of a help request gets a document
 * of their own, with the address of the gateway, which the API tells only to members.
 */
export function addDashboard(
  http: FastifyInstance,
  config: Pick<Config, 'gatewayUrl'>,
  folder = builtDir,
): void {
  const dashboard = lazily(() => {
    const { document, guestDocument, files } = readDashboard(folder)
    const guestPage = guestDocument && withMeta(guestDocument, 'gateway', config.gatewayUrl)
    return { pages: document, guestPage, files }
  })
  // A server that listens serves the build that it started with, whatever replaces the folder later.
  http.addHook('onListen', async () => {
    dashboard()
  })
  const policy = dashboardPolicy(config)
  const taken = new Set(['assets'])
  http.addHook('onRoute', ({ url }) => {
    taken.add(firstPart(url))
  })
  http.addHook('onRequest', (request, reply, done) => {
    const path = request.url.split('?')[0]!
    if (!request.is404 || !isRead(request)) return done()
    const { pages, guestPage, files } = dashboard()
    const file = files.get(path)
    if (file) return sendFile(request, reply, file)
    if (taken.has(firstPart(path)) || otherVersion.test(path)) {
      // A cache must not keep the absence of an asset that the next build brings.
      void reply.header('cache-control', 'no-store')
      return done()
    }
    void reply.header('vary', 'accept')
    if (!request.headers.accept?.includes('text/html')) return done()
    const document = path === guestPath ? guestPage : pages
    if (!document) return sendUnbuilt(reply)
    void reply.header('content-security-policy', policy)
    sendFile(request, reply, document, 'accept, accept-encoding')
  })
}

/**
 * The gateway may have another port or host. Addresses of images are data and blobs, because previews of
 * screens are fetched with a credential and noVNC decodes JPEG through them.
 */
function dashboardPolicy({ gatewayUrl }: Pick<Config, 'gatewayUrl'>): string {
  return contentSecurityPolicy(
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    "img-src 'self' data: blob:",
    "worker-src 'none'",
    "manifest-src 'self'",
    `connect-src 'self' ${new URL(gatewayUrl).origin}`,
  )
}

function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: DashboardFile,
  vary = 'accept-encoding',
): void {
  const encoding = negotiateEncoding(request.headers['accept-encoding'], file.encodings)
  const { bytes, etag } = encoding === null ? file.plain : file.encodings[encoding]!
  void reply.headers({ 'cache-control': file.cacheControl, etag, vary })
  if (isUnchanged(request.headers['if-none-match'], etag)) {
    void reply.code(304).send()
    return
  }
  if (encoding !== null) void reply.header('content-encoding', encoding)
  void reply.type(file.type).header('content-length', bytes.length)
  void reply.send(request.method === 'HEAD' ? undefined : bytes)
}

function sendUnbuilt(reply: FastifyReply): void {
  void reply.type('text/html; charset=utf-8').header('cache-control', 'no-cache').send(unbuilt)
}

/** For a person who opens the address of a server whose set-up has not built the dashboard. */
const unbuilt = plainPage(
  'Computer',
  'This server gives agents and people persistent Linux computers, through an HTTP API. Its dashboard has not been built: its operator can run <code>npm run setup</code> and start the server again.',
  [
    { to: '/docs', text: 'API reference' },
    { to: '/v1/openapi.json', text: 'OpenAPI document' },
    {
      to: '/install.sh',
      text: 'Installer of the command line: curl -fsS ADDRESS/install.sh | bash',
    },
  ],
)

function isRead({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

function firstPart(path: string): string {
  return path.split('/')[1] ?? ''
}
