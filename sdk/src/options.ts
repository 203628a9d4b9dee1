export type ComputerOptions = {
  /** Default: the variable COMPUTER_API_KEY. A browser that is signed in needs none. */
  readonly apiKey?: string | undefined
  /** Default: COMPUTER_BASE_URL, else the page's own origin, else http://127.0.0.1:7080. */
  readonly baseUrl?: string | undefined
  /** The real-time gateway. Default: what the server tells. */
  readonly gatewayUrl?: string | undefined
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** Default: the global one. Without any, or with null, waits and machine events poll. */
  readonly WebSocket?: WebSocketConstructor | null | undefined
  /** Tries after the first, for rate limits and connections that fail. Default: 4. */
  readonly maxRetries?: number | undefined
  /** What typing and clicking is done as. A page that a person drives says `human`. Default: `agent`. */
  readonly sessionType?: 'agent' | 'human' | undefined
  /** How long `compute_unavailable` is waited through, such as while a desktop starts. Default: 60 s. */
  readonly unavailableTimeoutMs?: number | undefined
}

/** What every call takes beside its own values. */
export type CallOptions = {
  /** Ends the call, its waits and its retries. */
  readonly signal?: AbortSignal | undefined
}

/** For calls that start work which goes on in the server. */
export type WaitOptions = CallOptions & {
  /** false: answer at once, while the work goes on. */
  readonly wait?: boolean | undefined
  /** How long to wait before `timed_out`. Default: 5 minutes. */
  readonly timeoutMs?: number | undefined
}

/** As much of a WebSocket as the SDK uses; that of browsers, Node, Deno, Bun and `ws` all fit. */
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
  readonly WebSocket: WebSocketConstructor | undefined
  readonly maxRetries: number
  readonly unavailableTimeoutMs: number
}

export function configure(options: ComputerOptions): Configuration {
  const baseUrl =
    options.baseUrl ?? variable('COMPUTER_BASE_URL') ?? pageOrigin() ?? 'http://127.0.0.1:7080'
  return {
    apiKey: options.apiKey ?? variable('COMPUTER_API_KEY'),
    baseUrl: baseUrl.replace(/\/+$/, ''),
    gatewayUrl: options.gatewayUrl ?? variable('COMPUTER_GATEWAY_URL'),
    // Looked up at each call: a test or a polyfill may replace the global one later.
    fetch: options.fetch ?? ((...request) => globalThis.fetch(...request)),
    WebSocket:
      options.WebSocket === null
        ? undefined
        : (options.WebSocket ?? (globalThis as { WebSocket?: WebSocketConstructor }).WebSocket),
    maxRetries: options.maxRetries ?? 4,
    unavailableTimeoutMs: options.unavailableTimeoutMs ?? 60_000,
  }
}

/** Deno asks before it tells a variable, and may say no. */
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
