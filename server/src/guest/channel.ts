import { once } from 'node:events'
import {
  connect,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
} from 'node:http2'
import { Socket } from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import { AnswerMemory } from './answer-memory.ts'
import { GuestUnavailable } from './errors.ts'
import { startTimeLimit } from './time-limit.ts'
import { VisibleStream } from './visible-stream.ts'
import { limitWork } from './work-budget.ts'

/** Limit of requests in flight to one machine from this process. Urgent ones are exempt. */
const maxInFlight = 256
const frameBytes = 256 * 1024
const usualStreamWindowBytes = 2 * 1024 * 1024
const sessionWindowBytes = 16 * 1024 * 1024
const pingTimeoutMs = 5_000
/** For two of the longest answers. */
const answerMemoryBytes = 64 * 1024 * 1024

export type GuestRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** With its query. */
  readonly path: string
  readonly body?: Buffer | Readable | undefined
  readonly contentType?: string
  /** Limit for the whole answer; with `streams`, for each silence instead. */
  readonly timeoutMs: number
  readonly streams?: boolean
  /** Both directions stay open after the head of the answer, without a time limit. */
  readonly duplex?: boolean
  /** Exempt from the limit of requests in flight. */
  readonly urgent?: boolean
  readonly signal?: AbortSignal | undefined
}

export type GuestAnswer = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly stream: ClientHttp2Stream
  readonly memory: AnswerMemory
}

/** One HTTP/2 session with the agent of one boot of a machine. */
export class GuestChannel {
  inFlight = 0
  /** Called whenever the last request in flight ends. */
  onIdle: () => void = () => {}
  readonly #session: ClientHttp2Session
  readonly #duplex: Duplex
  readonly #memory = new AnswerMemory(answerMemoryBytes)
  #lastProcessedStream = Infinity
  #probing = false

  /** Resolves once the agent has answered, so that a request which fails earlier was never sent. */
  static async open(
    stream: Duplex,
    timeoutMs: number,
    streamWindowBytes = usualStreamWindowBytes,
  ): Promise<GuestChannel> {
    const duplex = stream instanceof Socket ? new VisibleStream(stream) : stream
    const work = limitWork(duplex)
    // Before HTTP/2 hears of the end: Node ends the process when it writes while the stream shuts down.
    duplex.once('end', () => {
      session.destroy()
      duplex.destroy()
    })
    const session = connect('http://guest', {
      createConnection: () => duplex,
      settings: {
        enablePush: false,
        initialWindowSize: streamWindowBytes,
        maxFrameSize: frameBytes,
      },
      peerMaxConcurrentStreams: 2 * maxInFlight,
      maxSessionMemory: 128,
    })
    work.measure()
    const channel = new GuestChannel(session, duplex)
    const gone = new AbortController()
    const endLimit = startTimeLimit(timeoutMs, () => {
      gone.abort(new Error(`the agent was silent for ${timeoutMs} ms`))
    })
    try {
      session.once('close', () => gone.abort(new Error('the agent hung up')))
      await once(session, 'remoteSettings', { signal: gone.signal })
      session.setLocalWindowSize(sessionWindowBytes)
    } catch (error) {
      channel.destroy()
      const cause = gone.signal.reason ?? error
      throw new GuestUnavailable('the machine does not answer', { sent: false, cause })
    } finally {
      endLimit()
    }
    return channel
  }

  private constructor(session: ClientHttp2Session, duplex: Duplex) {
    this.#session = session
    this.#duplex = duplex
    // Each request in flight reports the failure itself.
    session.on('error', () => {})
    session.on('goaway', (_code, lastStreamId) => {
      this.#lastProcessedStream = lastStreamId
    })
  }

  get closed(): boolean {
    return this.#session.closed || this.#session.destroyed
  }

  onClose(listener: () => void): void {
    if (this.#session.destroyed) listener()
    else this.#session.once('close', listener)
  }

  /** Closes once the requests in flight have finished. */
  close(): void {
    this.#session.close()
  }

  /** Ends at once, even if the other side reads nothing any more. */
  destroy(): void {
    this.#session.destroy()
    this.#duplex.destroy()
  }

  /** Resolves with the head of the answer; `stream` then yields its body. */
  async send(request: GuestRequest): Promise<GuestAnswer> {
    request.signal?.throwIfAborted()
    if (this.inFlight >= maxInFlight && !request.urgent) {
      throw new GuestUnavailable('the machine has too many requests in flight', { sent: false })
    }
    const stream = this.#request(request)
    this.inFlight += 1
    return new Promise((resolve, reject) => {
      const endTimer = this.#limitTime(stream, request)
      let answered = false
      let failure: unknown
      stream.once('response', (headers) => {
        answered = true
        if (request.duplex) endTimer()
        resolve({ status: headers[':status'] ?? 0, headers, stream, memory: this.#memory })
      })
      stream.on('error', (error) => {
        failure = error
      })
      stream.once('close', () => {
        endTimer()
        this.inFlight -= 1
        if (this.inFlight === 0) this.onIdle()
        if (!answered) reject(this.#explain(stream, failure, request))
      })
    })
  }

  #request(request: GuestRequest): ClientHttp2Stream {
    const { method, path, body, contentType, signal } = request
    const headers = {
      ':method': method,
      ':path': path,
      ...(body && { 'content-type': contentType ?? 'application/json' }),
    }
    let stream: ClientHttp2Stream
    try {
      const endStream = body === undefined && !request.duplex
      stream = this.#session.request(headers, signal ? { endStream, signal } : { endStream })
    } catch (cause) {
      throw new GuestUnavailable('the connection to the machine had closed', { sent: false, cause })
    }
    if (Buffer.isBuffer(body)) stream.end(body)
    else if (body) {
      // The body is not read before the stream has its id, so an unsent request can be repeated.
      const pipe = () => {
        body.once('error', (error) => stream.destroy(error))
        body.pipe(stream)
        // The caller owns the rest of a refused upload, which may be a socket that awaits an answer.
        stream.once('close', () => body.unpipe(stream))
      }
      if (stream.pending) stream.once('ready', pipe)
      else pipe()
    }
    return stream
  }

  #limitTime(stream: ClientHttp2Stream, { timeoutMs, streams }: GuestRequest): () => void {
    const expire = () => {
      const sent = !this.#neverProcessed(stream)
      const error = new GuestUnavailable(`the machine did not answer in ${timeoutMs} ms`, { sent })
      stream.close(constants.NGHTTP2_CANCEL)
      stream.destroy(error)
      this.#probe()
    }
    if (streams) {
      stream.setTimeout(timeoutMs, expire)
      return () => {}
    }
    return startTimeLimit(timeoutMs, expire)
  }

  /** After a timeout, finds out whether only that request is slow or the agent is gone. */
  #probe(): void {
    if (this.#probing || this.closed) return
    this.#probing = true
    const endLimit = startTimeLimit(pingTimeoutMs, () => this.destroy())
    this.#session.ping(() => {
      endLimit()
      this.#probing = false
    })
  }

  #explain(stream: ClientHttp2Stream, failure: unknown, { signal, body }: GuestRequest): unknown {
    if (failure instanceof GuestUnavailable) return failure
    if (signal?.aborted) return signal.reason
    // Errors of the source of an upload pass through.
    if (failure && body && !Buffer.isBuffer(body) && body.errored === failure) return failure
    return new GuestUnavailable('the connection to the machine broke off', {
      sent: !this.#neverProcessed(stream),
      cause: failure,
    })
  }

  #neverProcessed(stream: ClientHttp2Stream): boolean {
    return (
      stream.pending ||
      stream.rstCode === constants.NGHTTP2_REFUSED_STREAM ||
      (stream.id ?? 0) > this.#lastProcessedStream
    )
  }
}
