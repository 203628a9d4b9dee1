import { snake, toCamel, toSnake } from './case.ts'
import { ApiError } from './errors.ts'
import type { CallOptions, Configuration } from './options.ts'
import { List, type Page } from './pages.ts'
import { pause, retryDelayMs } from './retry.ts'
import type { ErrorEnvelope } from './wire/records.ts'
import type { Routes } from './wire/routes.ts'

export type Route = keyof Routes
export type CallInput<R extends Route> = Routes[R]['input']
type Output<R extends Route> = Routes[R]['output']
export type Query<R extends Route> =
  CallInput<R> extends { query?: infer Q } ? NonNullable<Q> : never
export type Body<R extends Route> = CallInput<R> extends { body?: infer B } ? NonNullable<B> : never
/** An endpoint that returns pages. */
type ListRoute = {
  [R in Route]: Output<R> extends Page<unknown> ? R : never
}[Route]
type Item<R extends ListRoute> = Output<R>['data'][number]

export type RequestOptions = CallOptions & {
  /** Additional HTTP headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** A binary body, instead of a JSON one. */
  readonly content?: Content | undefined
  /** The request is idempotent. Default: true, except for a POST without idempotency key. */
  readonly isRepeatable?: boolean | undefined
  /** Time limit of each attempt. Default: 150 s. */
  readonly tryTimeoutMs?: number | undefined
}

type Content = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array>

type AnyInput = {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  readonly creates?: true
}

/** Longer than the server delays any response. */
const defaultTryTimeoutMs = 150_000

/** Sends calls to the API; handles credentials, key names, retries and errors. */
export class Transport {
  readonly configuration: Configuration

  constructor(configuration: Configuration) {
    this.configuration = configuration
  }

  /** Calls an endpoint. The route is its method and path in the contract. */
  async call<R extends Route>(
    route: R,
    input: CallInput<R>,
    options: RequestOptions = {},
  ): Promise<Output<R>> {
    const read = (response: Response) => response.text()
    const text = await this.#send(route, input, options, read).catch((error: unknown) => {
      // An earlier attempt, whose response was lost, deleted the resource.
      const isDone =
        error instanceof ApiError && error.code === 'not_found' && hadLostResponse(error)
      if (isDone && route.startsWith('DELETE ')) return ''
      throw error
    })
    return (text === '' ? undefined : toCamel(JSON.parse(text))) as Output<R>
  }

  /** Lists the items of a paginated endpoint. */
  list<R extends ListRoute>(
    route: R,
    input: CallInput<R> & { readonly query?: { readonly cursor?: string | undefined } },
    options: RequestOptions = {},
  ): List<Item<R>> {
    const read = async (cursor: string | undefined) => {
      const page = await this.call(route, { ...input, query: { ...input.query, cursor } }, options)
      return page as Page<Item<R>>
    }
    return new List(read, input.query?.cursor)
  }

  /** Requests the binary form of a response. Retries include `read`. */
  async bytes<R extends Route, T>(
    route: R,
    input: CallInput<R>,
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
    let hasLostResponse = false
    for (let number = 0; ; number++) {
      const result = await this.#try(url, init, options, read)
      if ('value' in result) return result.value
      const elapsedMs = Date.now() - startedAt
      const attempt = { ...result, number, elapsedMs, isRepeatable }
      const delay = retryDelayMs({ ...attempt, maxRetries, unavailableTimeoutMs })
      if (delay === null) {
        if (hasLostResponse) errorsAfterLostResponse.add(result.error)
        throw this.#isMissingKey(route, result.error) ? missingKey(result.error) : result.error
      }
      hasLostResponse ||= result.error.code === 'connection_failed'
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
      // 304 answers a condition that the caller has set, so the caller reads it.
      if (response.ok || response.status === 304) return { value: await read(response) }
      const retryAfter = Number(response.headers.get('retry-after') ?? NaN)
      return {
        error: await readError(response),
        retryAfter: Number.isFinite(retryAfter) ? retryAfter : undefined,
      }
    } catch (cause) {
      signal?.throwIfAborted()
      if (cause instanceof ApiError) throw cause
      const message = `no response from ${this.configuration.baseUrl}: ${reasonOf(cause)}`
      return { error: new ApiError('connection_failed', message, { cause }), retryAfter: undefined }
    }
  }

  /** A sign-in is refused for its password, and a page has a cookie instead of a key. */
  #isMissingKey(route: Route, { code }: ApiError): boolean {
    const needsKey = !route.startsWith('POST /v1/auth/') && !('document' in globalThis)
    return code === 'unauthenticated' && this.configuration.apiKey === undefined && needsKey
  }

  #contents(input: AnyInput, { content, headers = {} }: RequestOptions): RequestInit {
    const { apiKey } = this.configuration
    const all = {
      ...(apiKey && { authorization: `Bearer ${apiKey}` }),
      ...(input.creates && { 'idempotency-key': randomKey() }),
      ...headers,
    }
    // Only pages have cookies, and some runtimes reject the option.
    const cookies = 'document' in globalThis ? { credentials: 'include' as const } : {}
    if (content !== undefined) {
      const type = { 'content-type': 'application/octet-stream' }
      // Stream the body. Node would buffer all of it for a redirect, unless redirects are errors and
      // there is no window.
      const once = { duplex: 'half', redirect: 'error', window: null }
      const duplex = content instanceof ReadableStream ? once : {}
      return { ...cookies, ...duplex, headers: { ...type, ...all }, body: content } as RequestInit
    }
    if (input.body === undefined) return { ...cookies, headers: all }
    const body = JSON.stringify(toSnake(input.body))
    return { ...cookies, headers: { 'content-type': 'application/json', ...all }, body }
  }
}

function missingKey({ code, status, requestId }: ApiError): ApiError {
  const message = 'there is no API key: set the variable COMPUTER_API_KEY, or pass apiKey'
  return new ApiError(code, message, { status, requestId })
}

const errorsAfterLostResponse = new WeakSet<ApiError>()

/** True if the response of an earlier attempt was lost, so that attempt may have taken effect. */
export function hadLostResponse(error: ApiError): boolean {
  return errorsAfterLostResponse.has(error)
}

/** Reads the error of a response. Responses of proxies have no error envelope. */
async function readError(response: Response): Promise<ApiError> {
  const { status } = response
  const text = await response.text()
  try {
    const { error } = toCamel(JSON.parse(text)) as ErrorEnvelope
    if (typeof error.code !== 'string') throw new TypeError('not an error envelope')
    return new ApiError(error.code, error.message, { ...error, status })
  } catch {
    const code = status === 503 ? 'compute_unavailable' : 'connection_failed'
    const requestId = response.headers.get('x-request-id')
    return new ApiError(code, `unexpected response from the server (HTTP ${status})`, {
      status,
      requestId,
    })
  }
}

/** Puts the parameters into the path of a route. */
export function fill(path: string, params: AnyInput['params']): string {
  const bySnake = toSnake(params ?? {}) as Record<string, string>
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(bySnake[name]!))
}

function search(query: AnyInput['query']): string {
  const pairs = new URLSearchParams()
  for (const [key, value] of Object.entries(query ?? {})) {
    if (value === undefined) continue
    if (typeof value !== 'object') pairs.append(snake(key), String(value))
    else if (Array.isArray(value)) for (const one of value) pairs.append(snake(key), String(one))
    else
      for (const [inner, one] of Object.entries(value!))
        pairs.append(`${snake(key)}[${inner}]`, String(one))
  }
  return pairs.size > 0 ? `?${pairs}` : ''
}

/** crypto.randomUUID is not available in pages without https. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** fetch reports "fetch failed" and keeps the reason in the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  return cause instanceof Error && cause.message ? cause.message : error.message
}
