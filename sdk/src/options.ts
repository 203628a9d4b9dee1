export type ComputerOptions = {
  /** Default: the variable COMPUTER_API_KEY. Not needed in a signed-in browser; an empty one is none. */
  readonly apiKey?: string | undefined
  /** Default: COMPUTER_BASE_URL, else the page's own origin, else http://127.0.0.1:7080. */
  readonly baseUrl?: string | undefined
  /** URL of the real-time gateway. Default: as reported by the server. */
  readonly gatewayUrl?: string | undefined
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** Default: the global one. Without one, or with null, waits and machine events poll. */
  readonly WebSocket?: WebSocketConstructor | null | undefined
  /** Retries after rate limits and failed connections. Default: 4. */
  readonly maxRetries?: number | undefined
  /** Session type for input. Use `human` in a page that a person controls. Default: `agent`. */
  readonly sessionType?: 'agent' | 'human' | undefined
  /**
   * In Node, Deno and Bun: close the sessions of input and screens when the program ends, also by SIGINT
   * or SIGTERM unless the program has a listener of its own. Default: true.
   */
  readonly closeOnExit?: boolean | undefined
  /** How long to retry `compute_unavailable`, for example while a desktop starts. Default: 60 s. */
  readonly unavailableTimeoutMs?: number | undefined
}

/** Options of every call. */
export type CallOptions = {
  /** Aborts the call, its waits and its retries. */
  readonly signal?: AbortSignal | undefined
}

/** Options of calls that type and click. */
export type InputOptions = CallOptions & {
  /**
   * The `id` of a screenshot. If the screen around the point has changed since, or for the keyboard the active
   * window, or the size of the display, nothing happens and `precondition_failed` is thrown.
   */
  readonly ifScreenshot?: string | null | undefined
  /** With `ifScreenshot`, allows no difference in the 80×80 pixels around the point. */
  readonly tolerance?: 'strict' | undefined
}

/** Options of calls that start a long-running operation on the server. */
export type WaitOptions = CallOptions & {
  /** Set to false to return before the operation completes. */
  readonly wait?: boolean | undefined
  /** Time limit of the whole call, its requests and waits, before `timed_out`. Default: 5 minutes. */
  readonly timeoutMs?: number | undefined
}

/** The parts of WebSocket that the SDK uses. Browsers, Node, Deno, Bun and `ws` all provide them. */
export type WebSocketLike = {
  readonly readyState: number
  binaryType: string
  send(data: string | Uint8Array<ArrayBuffer>): void
  close(code?: number, reason?: string): void
  onopen: ((event: never) => void) | null
  onmessage: ((event: never) => void) | null
  onclose: ((event: never) => void) | null
  onerror: ((event: never) => void) | null
}
export type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike

export type Configuration = {
  readonly apiKey: string | undefined
  readonly baseUrl: string
  readonly gatewayUrl: string | undefined
  readonly fetch: typeof globalThis.fetch
  /** `fetch` is not the global one. */
  readonly hasOwnFetch: boolean
  readonly WebSocket: WebSocketConstructor | undefined
  readonly maxRetries: number
  readonly closeOnExit: boolean
  readonly unavailableTimeoutMs: number
}

export function configure(options: ComputerOptions): Configuration {
  const baseUrl =
    options.baseUrl ?? variable('COMPUTER_BASE_URL') ?? pageOrigin() ?? 'http://127.0.0.1:7080'
  return {
    apiKey: options.apiKey ?? variable('COMPUTER_API_KEY'),
    baseUrl: baseUrl.replace(/\/+$/, ''),
    gatewayUrl: options.gatewayUrl ?? variable('COMPUTER_GATEWAY_URL'),
    // Resolved at each call, because a polyfill or test may replace the global one later.
    fetch: options.fetch ?? ((...request) => globalThis.fetch(...request)),
    hasOwnFetch: options.fetch !== undefined,
    WebSocket:
      options.WebSocket === null
        ? undefined
        : (options.WebSocket ?? (globalThis as { WebSocket?: WebSocketConstructor }).WebSocket),
    maxRetries: options.maxRetries ?? 4,
    closeOnExit: options.closeOnExit ?? true,
    unavailableTimeoutMs: options.unavailableTimeoutMs ?? 60_000,
  }
}

/** Reading the environment throws in Deno without permission. */
function variable(name: string): string | undefined {
  try {
    return (
      (globalThis as { process?: { env?: Record<string, string> } }).process?.env?.[name] ||
      undefined
    )
  } catch {
    return undefined
  }
}

function pageOrigin(): string | undefined {
  const { location } = globalThis as { location?: { origin?: string } }
  return location?.origin?.startsWith('http') ? location.origin : undefined
}
