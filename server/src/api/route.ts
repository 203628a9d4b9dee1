import { aliasOf, bodyLimitOf, type AuditEventType, type Endpoint } from '@computer/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Readable } from 'node:stream'
import type { z } from 'zod'
import type { Actor, Caller, GuestActor, UserActor } from '../actor.ts'
import { requirePermission } from '../domain/accounts/permissions.ts'
import type { ActivityRecorder } from '../domain/activity/recorder.ts'
import { ApiError } from '../errors.ts'
import { newId } from '../ids.ts'
import { annotate, continueTrace, isTracing, rowOf, span } from '../trace/span.ts'
import type { NewId, RunOnce, WireResponse } from './idempotency.ts'
import { readInput } from './read-input.ts'
import { recordCall, type Recorder, type Recorders } from './recorders.ts'

type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined

export type Input<E extends Endpoint> = {
  readonly params: Parsed<E['params']>
  readonly query: Parsed<E['query']>
  readonly body: Parsed<E['body']>
  readonly headers: Parsed<E['headers']>
  /** For endpoints with uploads: the body as bytes, and the query that describes them. */
  readonly upload: { readonly bytes: Readable; readonly query: Parsed<E['uploads']> } | null
  /** The accept header asks for the response as bytes. */
  readonly wantsBytes: boolean
  /** The address that the call was sent to. */
  readonly sentTo: { readonly protocol: string; readonly host: string }
  /** The accept header, or an empty string. */
  readonly accept: string
  /** Returns a new id. An idempotent call that runs again after a crash gets the same id again. */
  readonly newId: NewId
  /** Aborted when the caller disconnects. */
  readonly signal: AbortSignal
}

/** A response with a status or headers of its own. */
export class JsonResponse<Body> {
  readonly body: Body
  readonly status: number | undefined
  readonly headers: ResponseHeaders

  constructor(body: Body, { status, headers = {} }: JsonResponseOptions) {
    this.body = body
    this.status = status
    this.headers = headers
  }
}
type JsonResponseOptions = {
  readonly status?: 200 | 201 | 202
  readonly headers?: ResponseHeaders
}
type ResponseHeaders = Readonly<Record<string, string | string[]>>

/** A response as bytes, or without a body. */
export class BytesResponse {
  readonly body: Buffer | Readable | undefined
  readonly headers: Record<string, string | number>
  readonly status: number

  constructor(
    body: Buffer | Readable | undefined,
    headers: Record<string, string | number>,
    status = 200,
  ) {
    this.body = body
    this.headers = headers
    this.status = status
  }
}

type CallerOf<E extends Endpoint> = E['requires'] extends 'public'
  ? Caller
  : E['requires'] extends 'user'
    ? UserActor
    : E['requires'] extends 'guest'
      ? GuestActor
      : Actor

type Handler<E extends Endpoint> = (
  actor: CallerOf<E>,
  input: Input<E>,
) => Promise<z.input<E['response']> | JsonResponse<z.input<E['response']>> | BytesResponse>

/** One handler per endpoint: a missing or misspelt key does not compile. */
export type Routes<Endpoints extends Record<string, Endpoint>> = {
  readonly [Name in keyof Endpoints]: Handler<Endpoints[Name]>
}

export type Authenticate = (request: FastifyRequest) => Promise<Actor>

/** The steps around every handler. */
export type RouteHooks = {
  readonly authenticate: Authenticate
  /** Authenticates the guest of a help request. */
  readonly authenticateGuest: Authenticate
  /** The caller of a public endpoint. Refuses browsers on pages of other sites. */
  readonly admit: (request: FastifyRequest) => Caller
  /** Runs calls of endpoints that create something, once for each idempotency key. */
  readonly runOnce: RunOnce
  /** Records a refused call of an endpoint that is audited. */
  readonly auditRefusal: (actor: Actor, type: AuditEventType, refusal: ApiError) => Promise<void>
  readonly activity: ActivityRecorder
  /** Called after every write that succeeded, before its response is sent. */
  readonly onWrite?: () => void
}

/**
 * Serves a group of endpoints. Read `onRequest` and `handler` to know all that happens to a request. The
 * caller is admitted before a body is read, so that nobody else can make the server hold one, and again
 * when it has arrived, because permissions may have been revoked meanwhile.
 */
export function mount<Endpoints extends Record<string, Endpoint>>(
  http: FastifyInstance,
  hooks: RouteHooks,
  endpoints: Endpoints,
  routes: Routes<Endpoints>,
  recorders: Recorders<Endpoints> = {},
): void {
  for (const [name, endpoint] of Object.entries(endpoints) as [keyof Endpoints, Endpoint][]) {
    const recorder = recorders[name] as Recorder | undefined
    const run = withRecorder(hooks, recorder, routes[name]! as unknown as AnyHandler)
    const handle = endpoint.method === 'GET' ? run : withWriteHook(hooks, run)

    const admitBeforeBody = async (request: FastifyRequest) => {
      if (!hasBody(request)) return
      if (endpoint.requires === 'public') hooks.admit(request)
      else await authorize(hooks, endpoint, request)
    }
    const onRequest = endpoint.method === 'GET' ? [keepPrivate] : [keepPrivate, admitBeforeBody]

    const answer = async (request: FastifyRequest, reply: FastifyReply) => {
      if (endpoint.requires === 'public') {
        const caller = hooks.admit(request)
        const input = { ...readInput(endpoint, request, reply), newId }
        return send(reply, endpoint, await handle(caller, input))
      }
      const actor = await authorize(hooks, endpoint, request)
      return auditRefusals(hooks, endpoint, actor, async () => {
        const input = readInput(endpoint, request, reply)
        if (!endpoint.creates) {
          return send(reply, endpoint, await handle(actor, { ...input, newId }))
        }
        const { status, body } = await hooks.runOnce(request, reply, actor, async (newId) =>
          toWireResponse(endpoint, await handle(actor, { ...input, newId })),
        )
        return await reply.code(status).send(body)
      })
    }

    const title = `${endpoint.method} ${endpoint.path}`
    const handler = (request: FastifyRequest, reply: FastifyReply) => {
      // The first id in the path.
      const row = isTracing() ? rowOf(Object.values(request.params as object)[0]) : {}
      return continueTrace(request.headers, () => span(title, row, () => answer(request, reply)))
    }

    for (const url of urlsOf(endpoint.path)) {
      const bodyLimit = bodyLimitOf(endpoint)
      http.route({ method: endpoint.method, url, bodyLimit, onRequest, handler })
    }
  }
}

type AnyHandler = (caller: Caller, input: object) => Promise<unknown>

/** Responses are private to the caller, and some contain secrets. */
function keepPrivate(_request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  void reply.header('cache-control', 'no-store')
  done()
}

function hasBody({ headers }: FastifyRequest): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers
  return length !== '0' || encoding !== undefined
}

function withRecorder(
  { activity }: RouteHooks,
  recorder: Recorder | undefined,
  run: AnyHandler,
): AnyHandler {
  if (!recorder) return run
  // No public endpoint has one.
  return (actor, input) =>
    recordCall(activity, recorder, actor as Actor, input, () => run(actor, input))
}

function withWriteHook({ onWrite }: RouteHooks, run: AnyHandler): AnyHandler {
  if (!onWrite) return run
  return async (caller, input) => {
    const result = await run(caller, input)
    onWrite()
    return result
  }
}

/** Authenticates the caller. Refuses callers that lack what the endpoint requires. */
async function authorize(
  hooks: RouteHooks,
  endpoint: Endpoint,
  request: FastifyRequest,
): Promise<Actor> {
  const isForGuests = endpoint.requires === 'guest'
  const actor = await (isForGuests ? hooks.authenticateGuest(request) : hooks.authenticate(request))
  await auditRefusals(hooks, endpoint, actor, async () => {
    const { requires, queryRequires = {} } = endpoint
    if (requires === 'public' || requires === 'guest') return
    if (requires === 'user') return requireUser(actor)
    requirePermission(actor, requires)
    for (const [parameter, permission] of Object.entries(queryRequires)) {
      if (Object.hasOwn(request.query as object, parameter)) requirePermission(actor, permission)
    }
  })
  return actor
}

function requireUser({ authSessionId }: Actor): void {
  if (authSessionId !== null) return
  throw new ApiError(
    'permission_denied',
    'this requires a user who is signed in with a browser; API keys are not accepted',
  )
}

async function auditRefusals<T>(
  { auditRefusal }: RouteHooks,
  { audits }: Endpoint,
  actor: Actor,
  step: () => Promise<T>,
): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (audits && error instanceof ApiError) await auditRefusal(actor, audits, error)
    throw error
  }
}

function send(reply: FastifyReply, endpoint: Endpoint, result: unknown) {
  if (result instanceof BytesResponse) {
    return reply.code(result.status).headers(result.headers).send(result.body)
  }
  if (result instanceof JsonResponse) void reply.headers(result.headers)
  const { status, body } = toWireResponse(endpoint, result)
  return reply.code(status).send(body)
}

/** Parsing drops every field that the contract does not name, so no internal field can leak. */
function toWireResponse(endpoint: Endpoint, result: unknown): WireResponse {
  const { body, status } =
    result instanceof JsonResponse ? result : { body: result, status: undefined }
  if (endpoint.creates) annotate(rowOf(body))
  return { status: status ?? endpoint.status, body: endpoint.response.parse(body) }
}

function urlsOf(path: Endpoint['path']): string[] {
  const paths = [path, aliasOf(path)].filter((one) => one !== null)
  return paths.map((one) => one.replace(/\{(\w+)\}/g, ':$1'))
}
