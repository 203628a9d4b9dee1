import { connect, type Socket } from 'node:net'
import { getInputFocus } from './requests.ts'
import { parseSetup, setupRequest, type Setup } from './setup.ts'

/**
 * A connection to the X server: sends requests in order, matches replies to them and dispatches
 * events. Unlike the libraries, it can read a reply of many megabytes straight into a buffer that
 * the caller reuses. The server runs on this machine, so the byte order is always the native one.
 *
 * Requests of one turn of the event loop go out in one write. The failure of a request without a
 * reply goes unnoticed. `sync` waits until the server has processed everything sent before.
 */
export class XConnection implements Disposable {
  readonly setup: Setup
  readonly closed: Promise<void>
  readonly #socket: Socket
  readonly #pending: Pending[] = []
  readonly #listeners = new Map<number, Set<(event: Buffer) => void>>()
  #outgoing: Buffer[] = []
  #sequence = 0
  #nextId = 1
  #isClosed = false

  private constructor(socket: Socket, setup: Setup, incoming: Incoming) {
    this.#socket = socket
    this.setup = setup
    incoming.onMessage = (message) => this.#receive(message)
    incoming.bufferFor = () => this.#pending[0]?.into
    const closing = Promise.withResolvers<void>()
    this.closed = closing.promise
    const close = () => {
      if (this.#isClosed) return
      this.#isClosed = true
      for (const { fail } of this.#pending.splice(0)) fail(new XClosed())
      closing.resolve()
    }
    socket.once('close', close)
    if (socket.destroyed) close()
  }

  static async open(path: string): Promise<XConnection> {
    const incoming = new Incoming()
    const socket = connect({
      path,
      onread: {
        buffer: Buffer.allocUnsafeSlow(readBytes),
        callback: (length, buffer) => {
          incoming.push(Buffer.from(buffer.buffer, buffer.byteOffset, length))
          return true
        },
      },
    })
    const failed = Promise.withResolvers<never>()
    failed.promise.catch(() => {})
    socket.on('error', failed.reject)
    socket.once('close', () => failed.reject(new XClosed()))
    const timer = setTimeout(() => socket.destroy(new XClosed()), setupTimeoutMs)
    try {
      const answer = new Promise<Buffer>((done) => (incoming.onMessage = done))
      incoming.isSetup = true
      socket.write(setupRequest())
      const setup = parseSetup(await Promise.race([answer, failed.promise]))
      return new XConnection(socket, setup, incoming)
    } catch (error) {
      socket.destroy()
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  newId(): number {
    return (this.setup.idBase | this.#nextId++) >>> 0
  }

  send(request: Buffer): void {
    if (this.#outgoing.length === 0) queueMicrotask(() => this.#flush())
    this.#outgoing.push(request)
    this.#sequence = (this.#sequence + 1) & 0xffff
  }

  /** Resolves with the reply, in `into` if it fits there. */
  ask(request: Buffer, options: { readonly into?: Buffer } = {}): Promise<Buffer> {
    if (this.#isClosed) return Promise.reject(new XClosed())
    this.send(request)
    const sequence = this.#sequence
    return new Promise((done, fail) => {
      this.#pending.push({ sequence, done, fail, into: options.into })
    })
  }

  async sync(): Promise<void> {
    await this.ask(getInputFocus())
  }

  /** Calls back for every event of a kind until the returned function is called. */
  listen(code: number, onEvent: (event: Buffer) => void): () => void {
    const listeners = this.#listeners.get(code) ?? new Set()
    this.#listeners.set(code, listeners.add(onEvent))
    return () => void listeners.delete(onEvent)
  }

  [Symbol.dispose](): void {
    this.#socket.destroy()
  }

  #flush(): void {
    const requests = this.#outgoing
    this.#outgoing = []
    if (!this.#socket.destroyed) {
      this.#socket.write(requests.length === 1 ? requests[0]! : Buffer.concat(requests))
    }
  }

  #receive(message: Buffer): void {
    const kind = message[0]!
    if (kind > 1) {
      // The high bit marks an event that another client sent.
      for (const onEvent of this.#listeners.get(kind & 0x7f) ?? []) onEvent(message)
      return
    }
    const awaited = this.#pending[0]
    if (awaited?.sequence !== message.readUInt16LE(2)) return
    this.#pending.shift()
    if (kind === 1) awaited.done(message)
    else awaited.fail(new XFailure(message[1]!, message[10]!))
  }
}

class XClosed extends Error {
  override name = 'XClosed'
  constructor() {
    super('the X server closed the connection')
  }
}

class XFailure extends Error {
  override name = 'XFailure'
  constructor(code: number, request: number) {
    super(`the X server refused request ${request} with error ${code}`)
  }
}

type Pending = {
  readonly sequence: number
  readonly done: (reply: Buffer) => void
  readonly fail: (error: Error) => void
  readonly into: Buffer | undefined
}

const readBytes = 256 * 1024
const setupTimeoutMs = 5000
const genericEvent = 35

/** Splits the byte stream into messages. Each is a copy, so that the read buffer can be reused. */
class Incoming {
  onMessage: (message: Buffer) => void = () => {}
  bufferFor: () => Buffer | undefined = () => undefined
  /** The server's first message has its length elsewhere. */
  isSetup = false
  #header = Buffer.allocUnsafe(32)
  #headerLength = 0
  #message: Buffer | undefined
  #filled = 0

  push(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length) {
      if (!this.#message) {
        const wanted = this.isSetup ? 8 : 32
        const copied = chunk.copy(
          this.#header,
          this.#headerLength,
          at,
          at + wanted - this.#headerLength,
        )
        at += copied
        this.#headerLength += copied
        if (this.#headerLength < wanted) return
        this.#begin(wanted)
      }
      const message = this.#message!
      const copied = chunk.copy(message, this.#filled, at)
      at += copied
      this.#filled += copied
      if (this.#filled < message.length) return
      this.#message = undefined
      this.#headerLength = 0
      this.onMessage(message)
    }
  }

  #begin(headerLength: number): void {
    const header = this.#header
    const kind = header[0]!
    const hasBody = this.isSetup || kind === 1 || kind === genericEvent
    const bodyWords = this.isSetup ? header.readUInt16LE(6) : hasBody ? header.readUInt32LE(4) : 0
    const length = headerLength + bodyWords * 4
    const into = kind === 1 && !this.isSetup ? this.bufferFor() : undefined
    const message =
      into && into.length >= length ? into.subarray(0, length) : Buffer.allocUnsafe(length)
    header.copy(message, 0, 0, headerLength)
    this.isSetup = false
    this.#message = message
    this.#filled = headerLength
  }
}
