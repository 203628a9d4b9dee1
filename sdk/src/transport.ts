import { snake, toCamel, toSnake } from './case.ts'
import { ApiError } from './errors.ts'
import type { CallOptions, Configuration } from './options.ts'
import { List, type Page } from './pages.ts'
import { pause, retryDelayMs } from './retry.ts'
import type { ErrorEnvelope } from './wire/records.ts'
import type { Routes } from './wire/routes.ts'

export type Route = keyof Routes
export type Input<R extends Route> = Routes[R]['input']
export type Output<R extends Route> = Routes[R]['output']
export type Query<R extends Route> = Input<R> extends { query?: infer Q } ? NonNullable<Q> : never
export type Body<R extends Route> = Input<R> extends { body?: infer B } ? NonNullable<B> : never
/** An endpoint that answers with pages. */
type ListRoute = {
  [R in Route]: Output<R> extends Page<unknown> ? R : never
}[Route]
type Item<R extends ListRoute> = Output<R>['data'][number]

export type RequestOptions = CallOptions & {
  /** As the API spells them. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** A body that is bytes, in place of one of JSON. */
  readonly content?: Content | undefined
  /** Sending it twice does it once. Default: every call but a POST that creates nothing. */
  readonly isRepeatable?: boolean | undefined
  /** How long one try may take. Default: 150 s; none for an answer that is streamed. */
  readonly tryTimeoutMs?: number | undefined
}

type Content = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array>

type AnyInput = {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  readonly creates?: true
}

/** Longer than the server holds any answer of its own accord. */
const defaultTryTimeoutMs = 150_000

/** Sends calls to the API: credentials, names, retries and errors are its business. */
export class Transport {
  readonly configuration: Configuration

  constructor(configuration: Configuration) {
    this.configuration = configuration
  }

  /** Calls an endpoint: the route is its method and path in the contract. */
  async call<R extends Route>(
    route: R,
    input: Input<R>,
    options: RequestOptions = {},
  ): Promise<Output<R>> {
    const read = (response: Response) => response.text()
    const text = await this.#send(route, input, options, read).catch((error: unknown) => {
      // The try whose answer was lost had deleted it.
      const isDone = error instanceof ApiError && error.code === 'not_found' && hadLostAnswer(error)
      if (isDone && route.startsWith('DELETE ')) return ''
      throw error
    })
    return (text === '' ? undefined : toCamel(JSON.parse(text))) as Output<R>
  }

  /** The list that an endpoint answers with page by page. */
  list<R extends ListRoute>(
    route: R,
    input: Input<R> & { readonly query?: { readonly cursor?: string | undefined } },
    options: RequestOptions = {},
  ): List<Item<R>> {
    const read = async (cursor: string | undefined) => {
      const page = await this.call(route, { ...input, query: { ...input.query, cursor } }, options)
      return page as Page<Item<R>>
    }
    return new List(read, input.query?.cursor)
  }

  /** Calls an endpoint for the bytes form of its answer; `read` is part of what is tried again. */
  async bytes<R extends Route, T>(
    route: R,
    input: Input<R>,
    accept: string,
    read: (response: Response) => Promise<T> | T,
    options: RequestOptions = {},
  ): Promise<T> {
    return this.#send(route, input, { ...options, headers: { ...options.headers, accept } }, read)
  }

  async #send<T>(
    route: Route,
    input: AnyInput,
    options: RequestOptions,
    read: (response: Response) => Promise<T> | T,
  ): Promise<T> {
    const [method, path] = route.split(' ') as [string, string]
    const url = this.configuration.baseUrl + fill(path, input.params) + search(input.query)
    const init = { method, ...this.#contents(input, options) }
    const isRepeatable = options.isRepeatable ?? (method !== 'POST' || input.creates === true)
    const { maxRetries, unavailableTimeoutMs } = this.configuration
    const startedAt = Date.now()
    let isLost = false
    for (let number = 0; ; number++) {
      const result = await this.#try(url, init, options, read)
      if ('value' in result) return result.value
      const elapsedMs = Date.now() - startedAt
      const attempt = { ...result, number, elapsedMs, isRepeatable }
      const delay = retryDelayMs({ ...attempt, maxRetries, unavailableTimeoutMs })
      if (delay === null) {
        if (isLost) lostBefore.add(result.error)
        throw result.error
      }
      isLost ||= result.error.code === 'connection_failed'
      await pause(delay, options.signal)
    }
  }

  async #try<T>(
    url: string,
    init: RequestInit,
    { signal, tryTimeoutMs = defaultTryTimeoutMs }: RequestOptions,
    read: (response: Response) => Promise<T> | T,
  ): Promise<{ value: T } | { error: ApiError; retryAfter: number | undefined }> {
    signal?.throwIfAborted()
    const bounds = [
      signal,
      tryTimeoutMs === Infinity ? undefined : AbortSignal.timeout(tryTimeoutMs),
    ]
    const ends = bounds.filter((one) => one !== undefined)
    try {
      const bound = ends.length > 0 ? { signal: AbortSignal.any(ends) } : {}
      const response = await this.configuration.fetch(url, { ...init, ...bound })
      if (response.ok) return { value: await read(response) }
      const retryAfter = Number(response.headers.get('retry-after') ?? NaN)
      return {
        error: await refusal(response),
        retryAfter: Number.isFinite(retryAfter) ? retryAfter : undefined,
      }
    } catch (cause) {
      signal?.throwIfAborted()
      if (cause instanceof ApiError) throw cause
      const message = `no answer from ${this.configuration.baseUrl}: ${reasonOf(cause)}`
      return { error: new ApiError('connection_failed', message, { cause }), retryAfter: undefined }
    }
  }

  #contents(input: AnyInput, { content, headers = {} }: RequestOptions): RequestInit {
    const { apiKey } = this.configuration
    const all = {
      ...(apiKey && { authorization: `Bearer ${apiKey}` }),
      ...(input.creates && { 'idempotency-key': randomKey() }),
      ...headers,
    }
    // Some runtimes throw at `credentials`, and only a page has cookies.
    const cookies = 'document' in globalThis ? { credentials: 'include' as const } : {}
    if (content !== undefined) {
      const type = { 'content-type': 'application/octet-stream' }
      // A stream is sent while it is read. Node would keep all of it for a redirect, unless that is an
      // error and there is no window; nobody waits for one.
      const once = { duplex: 'half', redirect: 'error', window: null }
      const duplex = content instanceof ReadableStream ? once : {}
      return { ...cookies, ...duplex, headers: { ...type, ...all }, body: content } as RequestInit
    }
    if (input.body === undefined) return { ...cookies, headers: all }
    const body = JSON.stringify(toSnake(input.body))
    return { ...cookies, headers: { 'content-type': 'application/json', ...all }, body }
  }
}

const lostBefore = new WeakSet<ApiError>()

/** An earlier try of the same call got no answer: it may have done what this one was refused for. */
export function hadLostAnswer(error: ApiError): boolean {
  return lostBefore.has(error)
}

/** The error an answer stands for. One that is not the API's own, such as a proxy's, has no envelope. */
async function refusal(response: Response): Promise<ApiError> {
  const { status } = response
  const text = await response.text()
  try {
    const { error } = toCamel(JSON.parse(text)) as ErrorEnvelope
    return new ApiError(error.code, error.message, { ...error, status })
  } catch {
    const code = status === 503 ? 'compute_unavailable' : 'connection_failed'
    const requestId = response.headers.get('x-request-id')
    return new ApiError(code, `the server answered ${status} without saying why`, {
      status,
      requestId,
    })
  }
}

function fill(path: string, params: AnyInput['params']): string {
  const bySnake = toSnake(params ?? {}) as Record<string, string>
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(bySnake[name]!))
}

function search(query: AnyInput['query']): string {
  const pairs = new URLSearchParams()
  for (const [key, value] of Object.entries(query ?? {})) {
    if (value === undefined) continue
    if (typeof value !== 'object') pairs.append(snake(key), String(value))
    else
      for (const [inner, one] of Object.entries(value!))
        pairs.append(`${snake(key)}[${inner}]`, String(one))
  }
  return pairs.size > 0 ? `?${pairs}` : ''
}

/** Not randomUUID: a page that is served without https has none. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** fetch says "fetch failed" and hides why in the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  return cause instanceof Error && cause.message ? cause.message : error.message
}
