import { closeCode, deadAfterMs, pingEveryMs, tick } from '@computer/contract'
import type { Socket } from 'node:net'
import type { RawData, WebSocket } from 'ws'
import type { z } from 'zod'
import type { ConnectionAuthorization } from '../domain/control/connection-authorization.ts'

/** With less than this in the socket's buffer, its channel may send more. */
const roomBytes = 256 * 1024
/** Upper bound; real control messages are far smaller. */
const maxControlBytes = 64 * 1024
/** With more than this in the buffer the client is too slow and is disconnected. */
const maxBufferedBytes = 16 * 1024 * 1024

/**
 * A WebSocket of a channel. Control messages are JSON text frames, payload is binary frames. Pings
 * detect a peer that disappeared without closing.
 */
export class Connection {
  readonly authorization: ConnectionAuthorization
  readonly #socket: WebSocket
  readonly #transport: Socket
  readonly #heartbeat: NodeJS.Timeout
  #silence: NodeJS.Timeout
  readonly #drainWaiters: (() => void)[] = []
  readonly #endListeners: (() => void)[] = []
  readonly #onServed: (bytes: number) => void
  #isCorked = false

  /** `transport` is the socket below the WebSocket. `onServed` is told the payload that left it. */
  constructor(
    socket: WebSocket,
    transport: Socket,
    authorization: ConnectionAuthorization,
    onServed: (bytes: number) => void,
  ) {
    this.#socket = socket
    this.#transport = transport
    this.#onServed = onServed
    this.authorization = authorization
    for (const sign of ['pong', 'message']) socket.on(sign, () => this.#awaitSilence())
    this.#heartbeat = setInterval(() => socket.ping(), pingEveryMs)
    this.#silence = this.#awaitSilence()
    socket.once('close', () => {
      clearInterval(this.#heartbeat)
      clearTimeout(this.#silence)
      this.#notifyDrained()
      this.#notifyEnded()
    })
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN
  }

  /** False: wait for `drained` before sending more. */
  get hasRoom(): boolean {
    return this.#socket.bufferedAmount < roomBytes
  }

  sendControl(message: unknown): void {
    this.#send(JSON.stringify(message), false)
  }

  /** Sends ticks until the connection closes. A client that has yet to read other messages needs none. */
  sendTicks(everyMs: number): void {
    const timer = setInterval(() => {
      if (this.hasRoom) this.sendControl(tick)
    }, everyMs)
    this.onClose(() => clearInterval(timer))
  }

  sendPayload(bytes: Uint8Array): void {
    this.#send(bytes, true)
  }

  /** Resolves when there is room again, or the connection has closed. */
  async drained(): Promise<void> {
    while (this.isOpen && !this.hasRoom) {
      await new Promise<void>((resolve) => this.#drainWaiters.push(resolve))
    }
  }

  /** A text frame that does not match the schema closes the connection. */
  onControl<Message>(schema: z.ZodType<Message>, listener: (message: Message) => void): void {
    this.#socket.on('message', (data, isBinary) => {
      if (isBinary || !this.isOpen) return
      const text = bytesOf(data)
      if (text.length > maxControlBytes)
        return this.close(
          'messageTooLarge',
          `a control message may have at most ${maxControlBytes} bytes`,
        )
      const message = parseJson(schema, text.toString('utf8'))
      if (message === undefined)
        this.close('protocolError', 'not a control message of this channel')
      else listener(message)
    })
  }

  onPayload(listener: (bytes: Buffer) => void, maxBytes: number): void {
    this.#socket.on('message', (data, isBinary) => {
      if (!isBinary || !this.isOpen) return
      const bytes = bytesOf(data)
      if (bytes.length > maxBytes)
        this.close('messageTooLarge', `a frame may have at most ${maxBytes} bytes`)
      else listener(bytes)
    })
  }

  /** Stops reading from the peer until `resume`. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  onClose(listener: () => void): void {
    if (this.#socket.readyState === this.#socket.CLOSED) listener()
    else this.#socket.once('close', listener)
  }

  /** Calls the listener when either side closes. A peer can delay `onClose` by not answering, and not this. */
  onEnd(listener: () => void): void {
    if (this.isOpen) this.#endListeners.push(listener)
    else listener()
  }

  /** From here on, messages of the peer are ignored. */
  close(reason: keyof typeof closeCode | 1000, message = ''): void {
    if (!this.isOpen) return
    this.#socket.close(reason === 1000 ? 1000 : closeCode[reason], message)
    terminateSoon(this.#socket)
    this.#notifyEnded()
  }

  #send(data: string | Uint8Array, binary: boolean): void {
    if (!this.isOpen) return
    if (this.#socket.bufferedAmount > maxBufferedBytes) return this.#socket.terminate()
    this.#cork()
    this.#socket.send(data, { binary, compress: false }, (error) => {
      if (!error && binary) this.#onServed(data.length)
      this.#notifyDrained()
    })
  }

  /** One write for all sends of a turn, because the write is the expensive part of a message. */
  #cork(): void {
    if (this.#isCorked) return
    this.#isCorked = true
    this.#transport.cork()
    process.nextTick(() => {
      this.#isCorked = false
      this.#transport.uncork()
    })
  }

  #notifyDrained(): void {
    for (const resolve of this.#drainWaiters.splice(0)) resolve()
  }

  #notifyEnded(): void {
    for (const listener of this.#endListeners.splice(0)) listener()
  }

  /** Ends the connection unless the peer is heard in time. */
  #awaitSilence(): NodeJS.Timeout {
    clearTimeout(this.#silence)
    this.#silence = setTimeout(() => this.#endSilence(), deadAfterMs)
    return this.#silence
  }

  #endSilence(): void {
    // While paused we cannot receive pongs, so do not count the silence.
    if (this.#socket.isPaused) this.#awaitSilence()
    else this.#socket.terminate()
  }
}

/** After a close was sent: the peer may never answer it. */
export function terminateSoon(socket: WebSocket): void {
  const timer = setTimeout(() => socket.terminate(), 5_000)
  socket.once('close', () => clearTimeout(timer))
}

function bytesOf(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data)
}

function parseJson<Message>(schema: z.ZodType<Message>, text: string): Message | undefined {
  try {
    return schema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}
