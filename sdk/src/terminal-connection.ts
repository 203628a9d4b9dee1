import { ApiError } from './errors.ts'
import { finalError, type Gateway, type Socket } from './gateway.ts'
import type { CallOptions } from './options.ts'
import { isTransient, Reconnection } from './reconnection.ts'
import { deferred } from './retry.ts'

export type AttachOptions = CallOptions & {
  /** The size of the local terminal. */
  readonly size?: { readonly cols: number; readonly rows: number } | undefined
  /**
   * Called after a reconnection. The server sends the last 256 KiB of output again, so clear the local
   * screen.
   */
  readonly onReattach?: (() => void) | undefined
  /** Called with true when a connection is open, and with false when it is lost and tried again. */
  readonly onConnection?: ((isOpen: boolean) => void) | undefined
}

/** Bound on writes queued while disconnected. */
const maxQueuedWrites = 256

/**
 * A client of a pty. `for await` yields its output and ends when its command has exited. Reconnects
 * automatically after a lost connection.
 */
export class TerminalConnection implements AsyncIterable<Uint8Array> {
  /** The exit code of its command. Rejects if the connection ends for another reason. */
  readonly exited: Promise<number>
  readonly #gateway: Gateway
  readonly #path: string
  readonly #exists: () => Promise<boolean>
  readonly #options: AttachOptions
  readonly #closed = new AbortController()
  readonly #exit = deferred<number>()
  #output: Uint8Array[] = []
  #arrived = deferred()
  #queuedWrites: (string | Uint8Array<ArrayBuffer>)[] = []
  #size: AttachOptions['size']
  #socket: Socket | undefined
  #result: { readonly error: Error | undefined } | undefined

  constructor(
    gateway: Gateway,
    path: string,
    exists: () => Promise<boolean>,
    options: AttachOptions,
  ) {
    this.#gateway = gateway
    this.#path = path
    this.#exists = exists
    this.#options = options
    this.#size = options.size
    this.exited = this.#exit.promise
    // A failure also surfaces through iteration.
    this.exited.catch(() => {})
    void this.#run()
  }

  /** Sends input. */
  write(data: string | Uint8Array<ArrayBuffer>): void {
    const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data
    if (this.#socket?.isOpen) this.#socket.send(bytes)
    else if (this.#queuedWrites.length < maxQueuedWrites) this.#queuedWrites.push(bytes)
  }

  resize(cols: number, rows: number): void {
    this.#size = { cols, rows }
    this.#socket?.send(JSON.stringify({ type: 'resize', cols, rows }))
  }

  /** Detaches. The terminal keeps running and can be attached to again. */
  close(): void {
    this.#closed.abort(new ApiError('connection_failed', 'the connection was closed by the client'))
    this.#socket?.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    try {
      for (;;) {
        while (this.#output.length > 0) yield this.#output.shift()!
        if (this.#result?.error) throw this.#result.error
        if (this.#result) return
        this.#arrived = deferred()
        await this.#arrived.promise
      }
    } finally {
      this.close()
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#options
    const combined = signal ? AbortSignal.any([signal, this.#closed.signal]) : this.#closed.signal
    try {
      const exitCode = await this.#connectUntilExit(combined)
      this.#exit.resolve(exitCode)
      this.#result = { error: undefined }
    } catch (error) {
      this.#exit.reject(error as Error)
      // Closing it locally is not an error for the reader.
      this.#result = { error: this.#closed.signal.aborted ? undefined : (error as Error) }
    }
    this.#arrived.resolve()
  }

  async #connectUntilExit(signal: AbortSignal): Promise<number> {
    const reconnection = new Reconnection(signal)
    let wasAttached = false
    for (;;) {
      signal.throwIfAborted()
      const socket = await reconnection.attempt(() => this.#connect(signal))
      if (socket) {
        const { exitCode, isAttached } = await this.#read(socket, wasAttached)
        if (exitCode !== undefined) return exitCode
        signal.throwIfAborted()
        const error = finalError(await socket.closed)
        // The conflict is with our own lost connection, which the server has not noticed yet.
        const isOwn = error?.code === 'conflict' && wasAttached && !reconnection.isTimedOut
        if (error && !isOwn) throw error
        this.#options.onConnection?.(false)
        wasAttached ||= isAttached
        if (isAttached) reconnection.succeeded()
      }
      await reconnection.pause()
    }
  }

  async #connect(signal: AbortSignal): Promise<Socket> {
    try {
      const socket = await this.#gateway.connect(this.#path, { signal })
      this.#socket = socket
      if (this.#size) socket.send(JSON.stringify({ type: 'resize', ...this.#size }))
      for (const bytes of this.#queuedWrites.splice(0)) socket.send(bytes)
      this.#options.onConnection?.(true)
      return socket
    } catch (error) {
      signal.throwIfAborted()
      // A failed handshake gives no reason, so ask whether the terminal still exists.
      if (isTransient(error) && !(await this.#exists()))
        throw new ApiError('not_found', 'the terminal no longer exists', { cause: error })
      throw error
    }
  }

  /** Reads until the connection ends. Returns whether any frame arrived, and the exit code if known. */
  async #read(socket: Socket, wasAttached: boolean) {
    let exitCode: number | undefined
    let isAttached = false
    for await (const frame of socket) {
      if (!isAttached && wasAttached) {
        // The server sends unread output again; drop it to avoid duplicates.
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
