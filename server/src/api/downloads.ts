import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config } from '../config.ts'
import { ApiError } from '../errors.ts'
import { addressOf } from '../http/origins.ts'
import { quoteWord } from '../shell.ts'

/** Built by the set-up from this checkout, so clients are of the version of their server. */
const builtDir = fileURLToPath(new URL('../../../build/downloads/', import.meta.url))
const installer = readFileSync(new URL('install.sh', import.meta.url), 'utf8')

const types: Readonly<Record<string, string>> = {
  'computer-cli.tgz': 'application/gzip',
  'computer-mcp.tgz': 'application/gzip',
  'computer-sdk.tgz': 'application/gzip',
  SHA256SUMS: 'text/plain; charset=utf-8',
}

/** Serves the clients and the installer of the command line to everyone: they contain no secrets. */
export function addDownloadRoutes(
  http: FastifyInstance,
  config: Pick<Config, 'baseUrl' | 'dashboardUrl'>,
  folder = builtDir,
): void {
  const method = ['GET', 'HEAD']
  http.route({
    method,
    url: '/install.sh',
    // Plain text, so that a browser shows it to a person who wants to read it first.
    handler: async (request, reply) =>
      reply
        .type('text/plain; charset=utf-8')
        .header('cache-control', 'no-cache')
        .send(installer.replace('@SERVER@', () => quoteWord(addressOf(config, request)))),
  })
  http.route<{ Params: { name: string } }>({
    method,
    url: '/downloads/:name',
    handler: (request, reply) => sendDownload(folder, request.params.name, request, reply),
  })
}

async function sendDownload(
  folder: string,
  name: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const type = Object.hasOwn(types, name) ? types[name] : undefined
  if (type === undefined) {
    throw new ApiError('not_found', `this folder has ${Object.keys(types).join(', ')}`)
  }
  const file = await open(join(folder, name)).catch((cause: unknown) => {
    const message =
      'the clients have not been built on this server; its operator can run `npm run setup`'
    throw new ApiError('unsupported_operation', message, { cause })
  })
  const { size, mtimeMs } = await file.stat()
  const etag = `"${size.toString(36)}-${Math.floor(mtimeMs).toString(36)}"`
  // The name stays when the server is updated, so caches must ask again.
  void reply.headers({ etag, 'cache-control': 'no-cache' })
  if (request.headers['if-none-match'] === etag) {
    await file.close()
    return reply.code(304).send()
  }
  void reply.type(type).header('content-length', size)
  if (request.method === 'HEAD') {
    await file.close()
    return reply.send()
  }
  return reply.send(file.createReadStream())
}
