import { ApiError } from './errors.ts'
import type { CallOptions } from './options.ts'
import { deferred } from './retry.ts'
import type { Transport } from './transport.ts'

export type Frame = string | Uint8Array<ArrayBuffer>
/** The first one of an organization's events names the cursor after which they begin. */
export type Tick = { readonly type: 'tick'; readonly cursor?: string }
export type ConnectOptions = CallOptions & {
  /** Called for each sign of life of a screen or of events, every 5 seconds. They are no frames. */
  readonly onTick?: ((tick: Tick) => void) | undefined
  /** The URL of the gateway for the guest of a help request, whom the cookie of the browser authenticates. */
  readonly guestUrl?: string | undefined
}

/** Close codes of the gateway for which reconnecting does not help. */
const finalCodes: Readonly<Record<number, readonly [ApiError['code'], string]>> = {
  1002: ['invalid_request', 'the message violates the protocol of this channel'],
  4401: ['unauthenticated', 'the credential expired or was revoked'],
  4403: ['permission_denied', 'the permission was revoked'],
  4404: ['not_found', 'the resource no longer exists'],
  4409: ['conflict', 'the terminal has a client already, or the screen is private'],
  4410: ['precondition_failed', 'the session was closed'],
  4413: ['invalid_request', 'a message was too large'],
  4429: ['rate_limited', 'too many input messages'],
}

/** The real-time gateway. Authenticates by subprotocol, which every runtime can send. */
export class Gateway {
  readonly #transport: Transport
  #url: Promise<string> | undefined

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Whether this runtime has WebSockets. */
  get isUsable(): boolean {
    return this.#transport.configuration.WebSocket !== undefined
  }

  /** Resolves once the connection is open. */
  async connect(path: string, options: ConnectOptions = {}): Promise<Socket> {
    const { signal, onTick, guestUrl } = options
    const { WebSocket } = this.#transport.configuration
    if (!WebSocket) {
      const message = 'this runtime has no WebSocket; pass one to new Computer({ WebSocket })'
      throw new ApiError('unsupported_operation', message)
    }
    const [url, protocols] = await Promise.all([
      guestUrl === undefined ? this.#findUrl() : toWebSocketUrl(guestUrl),
      guestUrl === undefined ? this.#createProtocols(options) : [],
    ])
    signal?.throwIfAborted()
    const socket = new Socket(new WebSocket(url + path, protocols), { signal, onTick })
    await socket.opened
    return socket
  }

  async #findUrl(): Promise<string> {
    const { gatewayUrl } = this.#transport.configuration
    const url = (this.#url ??= gatewayUrl
      ? Promise.resolve(gatewayUrl)
      : this.#transport.call('GET /v1/auth/me', {}).then((me) => me.gatewayUrl))
    url.catch(() => (this.#url = undefined))
    return toWebSocketUrl(await url)
  }

  async #createProtocols({ signal }: CallOptions): Promise<string[]> {
    const route = 'POST /v1/gateway-tokens'
    const { token } = await this.#transport.call(route, { creates: true }, { signal })
    return [`bearer.${token}`]
  }
}

function toWebSocketUrl(url: string): string {
  return url.replace(/\/+$/, '').replace(/^http/, 'ws')
}

/** A handshake without an answer, as through a network that drops packets, is given up after this time. */
const openWithinMs = 10_000

type RawSocket = InstanceType<NonNullable<Transport['configuration']['WebSocket']>>

/** A connection; iterate over its frames once. Iteration ends without an error: see `closed`. */
export class Socket implements AsyncIterable<Frame> {
  readonly opened: Promise<void>
  /** The close code; 1006 if the connection was lost. */
  readonly closed: Promise<number>
  readonly #socket: RawSocket
  readonly #frames: Frame[] = []
  #arrived = deferred()
  #isClosed = false
  #reader: ((frame: Frame) => void) | undefined

  constructor(socket: RawSocket, { signal, onTick }: ConnectOptions) {
    this.#socket = socket
    socket.binaryType = 'arraybuffer'
    const opened = deferred()
    const closed = deferred<number>()
    this.opened = opened.promise
    this.closed = closed.promise
    const abort = () => this.close()
    signal?.addEventListener('abort', abort)
    const late = setTimeout(abort, openWithinMs)
    socket.onopen = () => {
      clearTimeout(late)
      opened.resolve()
    }
    socket.onerror = () => {}
    socket.onmessage = ({ data }: { data: string | ArrayBuffer }) => {
      const tick = readTick(data)
      if (tick) return onTick?.(tick)
      const frame = typeof data === 'string' ? data : new Uint8Array(data)
      if (this.#reader) return this.#reader(frame)
      this.#frames.push(frame)
      this.#arrived.resolve()
    }
    socket.onclose = ({ code }: { code: number }) => {
      signal?.removeEventListener('abort', abort)
      clearTimeout(late)
      this.#isClosed = true
      this.#arrived.resolve()
      closed.resolve(code)
      const refused = new ApiError('connection_failed', 'could not connect to the gateway')
      opened.reject(signal?.aborted ? (signal.reason as Error) : refused)
    }
  }

  get isOpen(): boolean {
    return !this.#isClosed && this.#socket.readyState === 1
  }

  send(frame: string | Uint8Array<ArrayBuffer>): void {
    if (this.isOpen) this.#socket.send(frame)
  }

  close(): void {
    this.#socket.close(1000)
  }

  /** Delivers each frame to a callback, instead of iteration. */
  deliver(read: (frame: Frame) => void): void {
    for (const frame of this.#frames.splice(0)) read(frame)
    this.#reader = read
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Frame, void, void> {
    try {
      for (;;) {
        while (this.#frames.length > 0) yield this.#frames.shift()!
        if (this.#isClosed) return
        this.#arrived = deferred()
        await this.#arrived.promise
      }
    } finally {
      this.close()
    }
  }
}

/** Undefined: the frame is another one. */
function readTick(data: string | ArrayBuffer): Tick | undefined {
  // The gateway writes the type first; other frames are parsed by their readers alone.
  if (typeof data !== 'string' || !data.startsWith(tickStart)) return undefined
  return JSON.parse(data) as Tick
}

const tickStart = '{"type":"tick"'

/** The error of a close code, if reconnecting does not help. */
export function finalError(code: number): ApiError | undefined {
  const [name, message] = finalCodes[code] ?? []
  return name && message ? new ApiError(name, message) : undefined
}
