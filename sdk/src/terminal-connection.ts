import { ApiError } from './errors.ts'
import { finalError, type Gateway, type Socket } from './gateway.ts'
import type { CallOptions } from './options.ts'
import { backoffMs, deferred, pause } from './retry.ts'

export type AttachOptions = CallOptions & {
  /** The size of the terminal that shows it. */
  readonly size?: { readonly cols: number; readonly rows: number } | undefined
  /**
   * The connection broke off and stands again. The last 256 KiB of output follow once more, so nothing
   * is lost: clear the screen they are shown on.
   */
  readonly onReattach?: (() => void) | undefined
}

/** Reconnecting goes on for as long before the error is shown. */
const patienceMs = 120_000
/** What is typed while there is no connection waits for it, up to here. */
const maxWaiting = 256

/**
 * A client of a pty. `for await` over it gives the bytes that it shows, as they come, and ends when its
 * command has exited. A connection that breaks off is made again.
 */
export class TerminalConnection implements AsyncIterable<Uint8Array> {
  /** The exit code of its command. Rejects if the connection ends before it for another reason. */
  readonly exited: Promise<number>
  readonly #gateway: Gateway
  readonly #path: string
  readonly #isThere: () => Promise<boolean>
  readonly #options: AttachOptions
  readonly #closing = new AbortController()
  readonly #exit = deferred<number>()
  #output: Uint8Array[] = []
  #arrived = deferred()
  #waiting: (string | Uint8Array<ArrayBuffer>)[] = []
  #size: AttachOptions['size']
  #socket: Socket | undefined
  #end: { readonly error: Error | undefined } | undefined

  constructor(
    gateway: Gateway,
    path: string,
    isThere: () => Promise<boolean>,
    options: AttachOptions,
  ) {
    this.#gateway = gateway
    this.#path = path
    this.#isThere = isThere
    this.#options = options
    this.#size = options.size
    this.exited = this.#exit.promise
    // Whoever iterates learns of a failure there.
    this.exited.catch(() => {})
    void this.#run()
  }

  /** Types into it. */
  write(data: string | Uint8Array<ArrayBuffer>): void {
    const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data
    if (this.#socket?.isOpen) this.#socket.send(bytes)
    else if (this.#waiting.length < maxWaiting) this.#waiting.push(bytes)
  }

  resize(cols: number, rows: number): void {
    this.#size = { cols, rows }
    this.#socket?.send(JSON.stringify({ type: 'resize', cols, rows }))
  }

  /** Lets go of it. It lives on, and can be attached to again. */
  close(): void {
    this.#closing.abort(new ApiError('connection_failed', 'the connection was closed here'))
    this.#socket?.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    try {
      for (;;) {
        while (this.#output.length > 0) yield this.#output.shift()!
        if (this.#end?.error) throw this.#end.error
        if (this.#end) return
        this.#arrived = deferred()
        await this.#arrived.promise
      }
    } finally {
      this.close()
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#options
    const ending = signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal
    try {
      const exitCode = await this.#connectUntilExit(ending)
      this.#exit.resolve(exitCode)
      this.#end = { error: undefined }
    } catch (error) {
      this.#exit.reject(error as Error)
      // Closing it here is no failure of whoever reads it.
      this.#end = { error: this.#closing.signal.aborted ? undefined : (error as Error) }
    }
    this.#arrived.resolve()
  }

  async #connectUntilExit(signal: AbortSignal): Promise<number> {
    let goodAt = Date.now()
    let wasAttached = false
    for (let failures = 0; ; failures++) {
      signal.throwIfAborted()
      const socket = await this.#connect(signal, goodAt)
      if (socket) {
        const { exitCode, isAttached } = await this.#read(socket, wasAttached)
        if (exitCode !== undefined) return exitCode
        signal.throwIfAborted()
        const error = finalError(await socket.closed)
        // The client it has is ourselves, whose connection the server does not know to be broken yet.
        const isOwn = error?.code === 'conflict' && wasAttached && Date.now() - goodAt < patienceMs
        if (error && !isOwn) throw error
        wasAttached ||= isAttached
        if (isAttached) {
          goodAt = Date.now()
          failures = 0
        }
      }
      await pause(backoffMs(failures), signal)
    }
  }

  /** Undefined if it cannot be had just now. */
  async #connect(signal: AbortSignal, goodAt: number): Promise<Socket | undefined> {
    try {
      const socket = await this.#gateway.connect(this.#path, signal)
      this.#socket = socket
      if (this.#size) socket.send(JSON.stringify({ type: 'resize', ...this.#size }))
      for (const bytes of this.#waiting.splice(0)) socket.send(bytes)
      return socket
    } catch (error) {
      signal.throwIfAborted()
      if (!isPassing(error) || Date.now() - goodAt > patienceMs) throw error
      // A handshake does not say why it was refused; the list of terminals does, if it can be had.
      const isThere = await this.#isThere().catch((reason: unknown) => {
        if (isPassing(reason)) return true
        throw reason
      })
      if (!isThere) throw new ApiError('not_found', 'the terminal is gone', { cause: error })
      return undefined
    }
  }

  /** Until the connection ends: whether it got as far as the pty, and the exit code if that is why. */
  async #read(socket: Socket, wasAttached: boolean) {
    let exitCode: number | undefined
    let isAttached = false
    for await (const frame of socket) {
      if (!isAttached && wasAttached) {
        // What nobody has read yet comes once more, and would be shown twice.
        this.#output = []
        this.#options.onReattach?.()
      }
      isAttached = true
      if (typeof frame === 'string') {
        const message = JSON.parse(frame) as { type: string; exit_code: number }
        if (message.type === 'exit') exitCode = message.exit_code
      } else {
        this.#output.push(frame)
        this.#arrived.resolve()
      }
    }
    return { exitCode, isAttached }
  }
}

/** What a connection that comes and goes may mend. */
function isPassing(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    (error.code === 'connection_failed' || error.code === 'compute_unavailable')
  )
}
