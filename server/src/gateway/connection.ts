import { closeCode, deadAfterMs, pingEveryMs } from '@computer/contract'
import type { Socket } from 'node:net'
import type { RawData, WebSocket } from 'ws'
import type { z } from 'zod'
import type { ConnectionAuthorization } from '../domain/control/connection-authorization.ts'

/** What may wait in a socket's buffer before its channel should send no more. */
export const roomyBytes = 256 * 1024
/** Every control message is far smaller. */
const maxControlBytes = 64 * 1024
/** Past this a reader is too slow for what must not be dropped, and is cut off. */
const hopelessBytes = 16 * 1024 * 1024

/**
 * A WebSocket of a channel. Control messages are JSON text frames, payload is binary frames. A peer
 * that is gone without a word is noticed by its silence.
 */
export class Connection {
  readonly authorization: ConnectionAuthorization
  readonly #socket: WebSocket
  readonly #wire: Socket
  readonly #heartbeat: NodeJS.Timeout
  readonly #waiting: (() => void)[] = []
  #heardAtMs = performance.now()
  #isGathering = false

  /** `wire` is what the WebSocket was made over. */
  constructor(socket: WebSocket, wire: Socket, authorization: ConnectionAuthorization) {
    this.#socket = socket
    this.#wire = wire
    this.authorization = authorization
    socket.on('pong', () => (this.#heardAtMs = performance.now()))
    socket.on('message', () => (this.#heardAtMs = performance.now()))
    this.#heartbeat = setInterval(() => this.#beat(), pingEveryMs)
    socket.once('close', () => {
      clearInterval(this.#heartbeat)
      this.#wake()
    })
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN
  }

  /** There is room: what is sent now soon leaves. Otherwise wait for `drained`. */
  get isRoomy(): boolean {
    return this.#socket.bufferedAmount < roomyBytes
  }

  sendControl(message: unknown): void {
    this.#send(JSON.stringify(message), false)
  }

  sendPayload(bytes: Uint8Array): void {
    this.#send(bytes, true)
  }

  /** Resolves when there is room again, or the connection has closed. */
  async drained(): Promise<void> {
    while (this.isOpen && !this.isRoomy) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  /** A text frame that is no such message closes the connection. */
  onControl<Message>(schema: z.ZodType<Message>, listener: (message: Message) => void): void {
    this.#socket.on('message', (data, isBinary) => {
      if (isBinary || !this.isOpen) return
      const text = bytesOf(data)
      if (text.length > maxControlBytes)
        return this.close('messageTooLarge', `at most ${maxControlBytes} bytes a control message`)
      const message = parseJson(schema, text.toString('utf8'))
      if (message === undefined) this.close('protocolError', 'that is no message of this channel')
      else listener(message)
    })
  }

  onPayload(listener: (bytes: Buffer) => void, maxBytes: number): void {
    this.#socket.on('message', (data, isBinary) => {
      if (!isBinary || !this.isOpen) return
      const bytes = bytesOf(data)
      if (bytes.length > maxBytes)
        this.close('messageTooLarge', `at most ${maxBytes} bytes a frame`)
      else listener(bytes)
    })
  }

  /** The peer is read no further until `resume`. */
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

  /** What the peer still sends is not heard any more. */
  close(reason: keyof typeof closeCode | 1000, message = ''): void {
    if (!this.isOpen) return
    this.#socket.close(reason === 1000 ? 1000 : closeCode[reason], message)
    // A peer that does not answer the close is not waited for.
    const timer = setTimeout(() => this.#socket.terminate(), 5_000)
    this.#socket.once('close', () => clearTimeout(timer))
  }

  #send(data: string | Uint8Array, binary: boolean): void {
    if (!this.isOpen) return
    if (this.#socket.bufferedAmount > hopelessBytes) return this.#socket.terminate()
    this.#gather()
    this.#socket.send(data, { binary, compress: false }, () => this.#wake())
  }

  /** What is sent in one go is written in one, because the write costs more than all else of a message. */
  #gather(): void {
    if (this.#isGathering) return
    this.#isGathering = true
    this.#wire.cork()
    process.nextTick(() => {
      this.#isGathering = false
      this.#wire.uncork()
    })
  }

  /** Something has left the buffer: whoever waits for room looks again. */
  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  #beat(): void {
    // One that is not read cannot be heard.
    if (this.#socket.isPaused) this.#heardAtMs = performance.now()
    if (performance.now() - this.#heardAtMs > deadAfterMs) this.#socket.terminate()
    else this.#socket.ping()
  }
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
