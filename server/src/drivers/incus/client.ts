import { createReadStream } from 'node:fs'
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { connect as netConnect } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { connect as tlsConnect, type SecureContextOptions } from 'node:tls'
import { WebSocket } from 'ws'
import { span } from '../../trace/span.ts'
import { EngineError, readReply, readText, unreachable, type Operation } from './replies.ts'

/** Certificates and key are PEM text. Without `serverCertificate`, the system's authorities are used. */
export type EngineAccess =
  | { readonly socketPath: string }
  | {
      readonly url: string
      readonly certificate: string
      readonly key: string
      readonly serverCertificate?: string | undefined
    }

export type Query = Readonly<Record<string, string | number>>

export type Call = {
  readonly query?: Query
  readonly body?: unknown
  readonly timeoutMs?: number
}

const defaultTimeoutMs = 30_000
/** The limit for an operation whose caller sets none. */
const operationTimeoutMs = 120_000

/**
 * Speaks the engine's REST API. Everything it throws is an EngineError. It closes connections that no call has used for
 * `idleMs`: the engine would keep those of a burst for as long as it runs.
 */
export class IncusClient implements Disposable {
  readonly #base: URL
  readonly #tls: SecureContextOptions
  readonly #socketPath: string | undefined
  readonly #agent: HttpAgent | HttpsAgent

  constructor(access: EngineAccess, idleMs = 30_000) {
    const pool = { keepAlive: true, maxSockets: 64, timeout: idleMs }
    if ('socketPath' in access) {
      this.#base = new URL('http://engine')
      this.#tls = {}
      this.#socketPath = access.socketPath
      this.#agent = new HttpAgent(pool)
    } else {
      this.#base = new URL(access.url)
      this.#tls = { cert: access.certificate, key: access.key, ...pin(access.serverCertificate) }
      this.#socketPath = undefined
      this.#agent = new HttpsAgent({ ...pool, ...this.#tls })
    }
  }

  get<T>(path: string, call: Call = {}): Promise<T> {
    return this.#call('GET', path, call) as Promise<T>
  }

  /** Reads a log as text. */
  text(path: string, query: Query): Promise<string> {
    return this.#exchange('GET', path, { query }, {}, async (out) => void out.end(), readText)
  }

  /** Resolves when the change is done, even if the engine makes it in the background. */
  async change(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, call: Call = {}) {
    const { timeoutMs = operationTimeoutMs, ...rest } = call
    const result = await this.#call(method, path, rest)
    if (isOperation(result)) await this.waitFor(result, timeoutMs)
  }

  /** Starts a background operation, and does not wait for it. */
  async begin(path: string, body: unknown, query: Query): Promise<Operation> {
    const result = await this.#call('POST', path, { body, query })
    if (!isOperation(result)) throw new EngineError(`${path} started no operation`, { status: 500 })
    return result
  }

  async waitFor(operation: Operation, timeoutMs: number): Promise<Operation> {
    // The server gives up first, so a local timeout means that it does not answer.
    const query = { timeout: Math.ceil(timeoutMs / 1000) }
    const path = `/1.0/operations/${operation.id}/wait`
    const ended = (await this.#call('GET', path, {
      query,
      timeoutMs: timeoutMs + 10_000,
    })) as Operation
    if (ended.status_code === 200) return ended
    const isRunning = ended.status_code < 200
    throw new EngineError(
      isRunning ? `${ended.description} took longer than ${timeoutMs} ms` : ended.err,
      { status: isRunning ? 504 : ended.status_code, ofOperation: true },
    )
  }

  /** Uploads the files of an image as the multipart form that the engine expects. */
  async upload(path: string, files: readonly { name: string; path: string }[], timeoutMs: number) {
    const boundary = 'computer-image-parts'
    const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
    const result = await this.#exchange(
      'POST',
      path,
      { timeoutMs },
      headers,
      async (call) => {
        for (const file of files) {
          call.write(
            `--${boundary}\r\ncontent-disposition: form-data; name="${file.name}"; filename="${file.name}"\r\n` +
              'content-type: application/octet-stream\r\n\r\n',
          )
          await pipeline(createReadStream(file.path), call, { end: false })
          call.write('\r\n')
        }
        call.end(`--${boundary}--\r\n`)
      },
      readReply,
    )
    if (isOperation(result)) return this.waitFor(result, timeoutMs)
    throw new EngineError(`${path} started no operation`, { status: 500 })
  }

  /** Opens a WebSocket. Errors arrive as its `error` event. */
  socket(path: string, query: Query): WebSocket {
    const url = this.#url(path, query)
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
    const socketPath = this.#socketPath
    return new WebSocket(url, {
      perMessageDeflate: false,
      handshakeTimeout: 10_000,
      maxPayload: 16 * 1024 * 1024,
      createConnection: (options: object) =>
        socketPath === undefined
          ? tlsConnect({ ...options, ...this.#tls })
          : netConnect({ path: socketPath }),
    } as ConstructorParameters<typeof WebSocket>[2])
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }

  #call(method: string, path: string, call: Call): Promise<unknown> {
    const body = call.body === undefined ? undefined : JSON.stringify(call.body)
    const headers = body === undefined ? {} : { 'content-type': 'application/json' }
    return span(`engine ${method} ${path}`, {}, () =>
      this.#exchange(method, path, call, headers, async (out) => void out.end(body), readReply),
    )
  }

  async #exchange<T>(
    method: string,
    path: string,
    { query = {}, timeoutMs = defaultTimeoutMs }: Call,
    headers: Record<string, string>,
    send: (out: ReturnType<typeof httpRequest>) => Promise<void>,
    read: (response: IncomingMessage, path: string) => Promise<T>,
  ): Promise<T> {
    const signal = AbortSignal.timeout(timeoutMs)
    const options = { method, headers, agent: this.#agent, signal }
    const url = this.#url(path, query)
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const out =
          this.#socketPath === undefined
            ? httpsRequest(url, options)
            : httpRequest(url, { ...options, socketPath: this.#socketPath })
        out.on('response', resolve)
        out.on('error', reject)
        send(out).catch((error: unknown) => out.destroy(error as Error))
      })
      return await read(response, path)
    } catch (error) {
      if (error instanceof EngineError) throw error
      throw unreachable(`${method} ${path}`, signal.aborted ? timeoutMs : undefined, error)
    }
  }

  #url(path: string, query: Query): URL {
    const url = new URL(path, this.#base)
    for (const [key, value] of Object.entries(query)) url.searchParams.set(key, String(value))
    return url
  }
}

function isOperation(value: unknown): value is Operation {
  return typeof value === 'object' && value !== null && 'class' in value && 'status_code' in value
}

/** The engine's certificate is self-signed, so the given one is trusted whatever its name. */
function pin(certificate: string | undefined): object {
  return certificate === undefined ? {} : { ca: certificate, checkServerIdentity: () => undefined }
}
