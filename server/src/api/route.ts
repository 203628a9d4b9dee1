import type { AuditEventType, Endpoint } from '@computer/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Readable } from 'node:stream'
import { z } from 'zod'
import type { Actor, Caller, UserActor } from '../actor.ts'
import { requirePermission } from '../domain/accounts/permissions.ts'
import { ApiError } from '../errors.ts'
import { newId } from '../ids.ts'
import { parse } from '../http/parse.ts'
import type { Answer, Once } from './idempotency.ts'

type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined

export type Input<E extends Endpoint> = {
  readonly params: Parsed<E['params']>
  readonly query: Parsed<E['query']>
  readonly body: Parsed<E['body']>
  readonly headers: Parsed<E['headers']>
  /** The body as bytes and the query of that form, where the endpoint takes uploads. */
  readonly upload: { readonly bytes: Readable; readonly query: Parsed<E['uploads']> } | null
  /** The caller's accept header asks for the bytes form of the answer. */
  readonly wantsBytes: boolean
  /** A new id; the same one when an idempotent call runs again after a crash. */
  newId<Prefix extends string>(prefix: Prefix): `${Prefix}_${string}`
  /** Aborted when the caller hangs up. */
  readonly signal: AbortSignal
}

/** An answer whose status or headers are not those of every answer of its endpoint. */
export class JsonAnswer<Body> {
  readonly body: Body
  readonly status: number | undefined
  readonly headers: Record<string, string>

  constructor(body: Body, { status, headers = {} }: JsonAnswerOptions) {
    this.body = body
    this.status = status
    this.headers = headers
  }
}
type JsonAnswerOptions = {
  readonly status?: 200 | 201 | 202
  readonly headers?: Record<string, string>
}

/** The bytes form of an answer. */
export class BytesAnswer {
  readonly body: Buffer | Readable
  readonly headers: Record<string, string | number>
  readonly status: number

  constructor(body: Buffer | Readable, headers: Record<string, string | number>, status = 200) {
    this.body = body
    this.headers = headers
    this.status = status
  }
}

type CallerOf<E extends Endpoint> = E['requires'] extends 'public'
  ? Caller
  : E['requires'] extends 'user'
    ? UserActor
    : Actor

type Handler<E extends Endpoint> = (
  actor: CallerOf<E>,
  input: Input<E>,
) => Promise<z.input<E['response']> | JsonAnswer<z.input<E['response']>> | BytesAnswer>

/** One handler per endpoint: a missing or misspelt key does not compile. */
export type Routes<Endpoints extends Record<string, Endpoint>> = {
  readonly [Name in keyof Endpoints]: Handler<Endpoints[Name]>
}

export type Authenticate = (request: FastifyRequest) => Promise<Actor>

/** What runs before and after handlers. */
export type RouteHooks = {
  readonly authenticate: Authenticate
  /** Checks a call of a public endpoint; refuses pages of other sites. */
  readonly admit: (request: FastifyRequest) => Caller
  readonly once: Once
  /** Audits a refused call of an endpoint that is audited. */
  readonly noteRefusal: (actor: Actor, type: AuditEventType, refusal: ApiError) => Promise<void>
  /** Runs after every call that may have changed something, before the response. */
  readonly changed?: () => void
}

/** Serves a group of endpoints. Read `answer` to know all that happens to a request. */
export function mount<Endpoints extends Record<string, Endpoint>>(
  http: FastifyInstance,
  hooks: RouteHooks,
  endpoints: Endpoints,
  routes: Routes<Endpoints>,
): void {
  for (const [name, endpoint] of Object.entries(endpoints) as [keyof Endpoints, Endpoint][]) {
    const run = routes[name]! as unknown as AnyHandler
    const handle = endpoint.method === 'GET' ? run : withChanged(hooks, run)

    const answer = async (request: FastifyRequest, reply: FastifyReply) => {
      // It is for the caller alone, and some of it is secret.
      void reply.header('cache-control', 'no-store')
      if (endpoint.requires === 'public') {
        const caller = hooks.admit(request)
        const input = { ...readInput(endpoint, request, reply), newId }
        return send(reply, endpoint, await handle(caller, input))
      }
      const actor = await hooks.authenticate(request)
      try {
        authorize(actor, endpoint.requires)
        const input = readInput(endpoint, request, reply)
        if (!endpoint.creates) {
          return send(reply, endpoint, await handle(actor, { ...input, newId }))
        }
        const { status, body } = await hooks.once(request, reply, actor, async (newId) =>
          toAnswer(endpoint, await handle(actor, { ...input, newId })),
        )
        return await reply.code(status).send(body)
      } catch (error) {
        if (endpoint.audits && error instanceof ApiError) {
          await hooks.noteRefusal(actor, endpoint.audits, error)
        }
        throw error
      }
    }

    for (const url of addresses(endpoint.path)) {
      http.route({ method: endpoint.method, url, handler: answer })
    }
  }
}

type AnyHandler = (caller: Caller, input: object) => Promise<unknown>

function withChanged({ changed }: RouteHooks, run: AnyHandler): AnyHandler {
  if (!changed) return run
  return async (caller, input) => {
    const result = await run(caller, input)
    changed()
    return result
  }
}

function authorize(actor: Actor, requires: Exclude<Endpoint['requires'], 'public'>): void {
  if (requires !== 'user') return requirePermission(actor, requires)
  if (actor.authSessionId !== null) return
  throw new ApiError('permission_denied', 'this needs a person who is signed in, not an API key')
}

function readInput(endpoint: Endpoint, request: FastifyRequest, reply: FastifyReply) {
  if (request.body instanceof Readable && !endpoint.uploads) {
    throw new ApiError('invalid_request', 'send content-type: application/json')
  }
  const upload =
    endpoint.uploads && request.body instanceof Readable
      ? { bytes: request.body, query: parse(endpoint.uploads, request.query, 'query') }
      : null
  const accept = request.headers.accept ?? ''
  return {
    params: parseIf(endpoint.params, request.params, 'path'),
    query: upload ? undefined : parse(endpoint.query ?? nothing, request.query, 'query'),
    body: upload ? undefined : parse(endpoint.body ?? nothing, request.body ?? {}, 'body'),
    headers: parseIf(endpoint.headers, request.headers, 'header'),
    upload,
    wantsBytes:
      endpoint.bytes !== undefined && accept.startsWith(endpoint.bytes.replace(/\*$/, '')),
    signal: hangUpSignal(reply),
  }
}

function send(reply: FastifyReply, endpoint: Endpoint, result: unknown) {
  if (result instanceof BytesAnswer) {
    return reply.code(result.status).headers(result.headers).send(result.body)
  }
  if (result instanceof JsonAnswer) void reply.headers(result.headers)
  const { status, body } = toAnswer(endpoint, result)
  return reply.code(status).send(body)
}

/** Parsing drops every field the contract does not name, so no internal one can leak. */
function toAnswer(endpoint: Endpoint, result: unknown): Answer {
  const { body, status } =
    result instanceof JsonAnswer ? result : { body: result, status: undefined }
  return { status: status ?? endpoint.status, body: endpoint.response.parse(body) }
}

const nothing = z.strictObject({})

function parseIf(schema: z.ZodType | undefined, value: unknown, part: string): unknown {
  return schema && parse(schema, value, part)
}

/** `/machines/{id}/…` is an alias of `/v1/machines/{id}/…` (wire, Conventions). */
function addresses(path: string): string[] {
  const url = path.replace(/\{(\w+)\}/g, ':$1')
  return path.startsWith('/v1/machines/{machine_id}/') ? [url, url.slice('/v1'.length)] : [url]
}

function hangUpSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort(new Error('the caller hung up'))
  })
  return controller.signal
}
