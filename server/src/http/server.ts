import { errorStatus, type ErrorEnvelope } from '@computer/contract'
import Fastify, {
  LogController,
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import type { Socket } from 'node:net'
import type { App } from '../app.ts'
import { isUnreachable } from '../db/errors.ts'
import { endConnection } from '../end-connection.ts'
import { ApiError } from '../errors.ts'
import { newUlid } from '../ids.ts'
import { addBodyParsers } from './bodies.ts'
import { parseQuery } from './query.ts'
import { limitResponses } from './responses.ts'

const maxHeaderBytes = 16 * 1024
/** More than a server has clients; below what its descriptors and memory allow. */
const maxConnections = 20_000
/** The longest part of a path that can be an id, decoded. */
const maxParamLength = 256
/** Characters of a requested path that an error repeats. */
const maxShownPath = 200

/** Fastify with the limits, request ids, body parsers and error envelope of the API, without routes. */
export function createHttp(
  app: Pick<App, 'config' | 'log' | 'timing' | 'metrics'>,
): FastifyInstance {
  const { config, log, metrics } = app
  const upgradeUrl = `${config.dashboardUrl}/billing`
  const http = Fastify({
    loggerInstance: log as FastifyBaseLogger,
    trustProxy: config.trustProxy.length > 0 && [...config.trustProxy],
    logController: new LogController({ disableRequestLogging: true }),
    exposeHeadRoutes: false,
    genReqId: () => `req_${newUlid()}`,
    routerOptions: { querystringParser: parseQuery, maxParamLength },
    http: {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: 10_000,
      connectionsCheckingInterval: 5_000,
      keepAliveTimeout: 72_000,
    },
    // No limit on the whole request, because uploads may be slow. Headers and bodies have their own.
    requestTimeout: 0,
    clientErrorHandler: refuseBrokenHttp,
    // An undecodable URL reaches no route and no hook.
    frameworkErrors: (error, request, reply) => {
      void reply.header('x-request-id', request.id)
      void sendError(reply, toApiError(error), { requestId: request.id, upgradeUrl })
    },
    return503OnClosing: false,
  })
  http.server.maxConnections = maxConnections

  http.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id)
    done()
  })
  // Before a body is read for no route.
  http.addHook('preParsing', (request, _reply, _payload, done) => {
    done(request.is404 ? noRoute(request) : null)
  })
  http.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions } = request
    const { statusCode: status, elapsedTime: ms } = reply
    metrics.requests.observe({ method, route: routeOptions.url, status, ms })
    if (method !== 'GET' || status >= 500) logAnswer(request, reply)
    done()
  })

  addBodyParsers(http, app)
  limitResponses(http, app)

  http.setNotFoundHandler(async (request) => {
    throw noRoute(request)
  })
  http.setErrorHandler(async (error: FastifyError, request, reply) => {
    const answer = toApiError(error)
    // A failure after the caller disconnected is expected.
    if (answer.code === 'internal_error' && !reply.raw.destroyed) {
      request.log.error({ err: error }, 'request failed')
    }
    return sendError(reply, answer, { requestId: request.id, upgradeUrl })
  })
  return http
}

function logAnswer(request: FastifyRequest, reply: FastifyReply): void {
  const { statusCode: status, elapsedTime } = reply
  const fields = { method: request.method, path: request.routeOptions.url, status }
  request.log.info({ ...fields, ms: Math.round(elapsedTime) }, 'answered')
}

function noRoute({ method, url }: FastifyRequest): ApiError {
  const path = url.split('?')[0]!
  const shown = path.length <= maxShownPath ? path : `${path.slice(0, maxShownPath)}…`
  return new ApiError('not_found', `there is no ${method} ${shown}; see /docs`)
}

/** Closes gracefully, and aborts the requests that are still open after the grace period. */
export async function closeHttp(http: FastifyInstance, graceMs = 5_000): Promise<void> {
  const timer = setTimeout(() => http.server.closeAllConnections(), graceMs)
  await http.close()
  clearTimeout(timer)
}

const bodyHeaders = ['content-type', 'content-length', 'content-range', 'accept-ranges']

function sendError(reply: FastifyReply, error: ApiError, context: ErrorContext) {
  if (error.retryAfter !== undefined) void reply.header('retry-after', error.retryAfter)
  if (error.code === 'unauthenticated') void reply.header('www-authenticate', 'Bearer')
  // They describe a body that failed before its first byte.
  for (const name of bodyHeaders) void reply.removeHeader(name)
  const { fileSize } = error
  if (fileSize !== undefined) void reply.header('content-range', `bytes */${fileSize}`)
  const status = fileSize === undefined ? errorStatus[error.code] : 416
  return reply.code(status).send(envelope(error, context))
}

type ErrorContext = {
  readonly requestId: string
  /** The page of the dashboard with the plans. */
  readonly upgradeUrl: string | null
}

function envelope(error: ApiError, { requestId, upgradeUrl }: ErrorContext): ErrorEnvelope {
  return {
    error: {
      code: error.code,
      message: error.message,
      request_id: requestId,
      ...(error.details && { details: [...error.details] }),
      ...(error.quota && { quota: { ...error.quota, upgrade_url: upgradeUrl } }),
    },
  }
}

function toApiError(error: FastifyError): ApiError {
  if (error instanceof ApiError) return error
  // Fastify rejects invalid bodies before a handler runs.
  if (typeof error.statusCode === 'number' && error.statusCode < 500) {
    return new ApiError('invalid_request', refusals[error.code] ?? error.message, { cause: error })
  }
  if (isUnreachable(error)) {
    return new ApiError('compute_unavailable', 'the database does not respond; try again shortly', {
      cause: error,
      retryAfter: 1,
    })
  }
  return new ApiError(
    'internal_error',
    'internal failure; the server log has details under this request id',
    {
      cause: error,
    },
  )
}

const refusals: Record<string, string> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'send content-type: application/json',
  FST_ERR_CTP_INVALID_JSON_BODY: 'the body is not JSON',
  FST_ERR_BAD_URL: 'the path of the URL is not valid; percent-encode it as UTF-8',
  FST_ERR_MAX_PARAM_LENGTH: `a part of the path has more than ${maxParamLength} characters`,
}

/** Malformed HTTP and oversized headers never become a request, so reply on the socket. */
function refuseBrokenHttp(error: BrokenHttp, socket: Socket): void {
  if (!socket.writable) return
  const message =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? `the headers are larger than ${maxHeaderBytes} bytes`
      : 'this is not an HTTP request'
  const id = `req_${newUlid()}`
  const refusal = new ApiError('invalid_request', message)
  const body = JSON.stringify(envelope(refusal, { requestId: id, upgradeUrl: null }))
  // The parser tells no method, and a response to HEAD has no body.
  const { rawPacket } = error
  const isHead = Buffer.isBuffer(rawPacket) && rawPacket.toString('latin1', 0, 5) === 'HEAD '
  endConnection(
    socket,
    `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `x-request-id: ${id}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n` +
      (isHead ? '' : body),
  )
}

type BrokenHttp = Error & { readonly code?: string; readonly rawPacket?: unknown }
