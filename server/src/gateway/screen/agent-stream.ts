import type { ScreenFromGuest } from '@computer/contract'
import type { App } from '../../app.ts'
import type { GuestRef } from '../../guest/channels.ts'
import { GuestRefusal, GuestUnavailable } from '../../guest/errors.ts'
import { openScreen, type ScreenStream } from '../../guest/screens.ts'
import { pause } from '../../pace.ts'
import { readTile } from '../rfb/tile.ts'
import { Framebuffer, type FramebufferChange } from './framebuffer.ts'

const firstRetryMs = 100
const maxRetryMs = 2_000

type AgentStreamListener = {
  readonly onFrame: (change: FramebufferChange) => void
  readonly onCursor: (cursor: Extract<ScreenFromGuest, { type: 'cursor' }>) => void
  readonly onCopiedText: (text: string) => void
  readonly onRefused: (refused: Extract<ScreenFromGuest, { type: 'refused' }>) => void
}

/**
 * The screen stream to the agent of one machine, shared by all clients in this process. While the
 * machine runs, one stream is kept open and reopened with back-off when it breaks.
 */
export class AgentStream implements Disposable {
  readonly framebuffer = new Framebuffer()
  readonly #app: Pick<App, 'guests' | 'log'>
  readonly #listener: AgentStreamListener
  #target: { readonly ref: GuestRef; readonly abort: AbortController } | null = null
  #stream: ScreenStream | null = null
  #retryMs = firstRetryMs
  #lastFrame = 0
  #acknowledgedFrame = 0

  constructor(app: Pick<App, 'guests' | 'log'>, listener: AgentStreamListener) {
    this.#app = app
    this.#listener = listener
  }

  /** The open stream; null while there is none. Each reconnection is a new object. */
  get current(): ScreenStream | null {
    return this.#stream && !this.#stream.closed ? this.#stream : null
  }

  /** Names the boot of the machine to stream from; null while it is not running. */
  follow(ref: GuestRef | null): void {
    if (isSameBoot(this.#target && this.#target.ref, ref)) return
    this.#target?.abort.abort()
    this.#target = ref && { ref, abort: new AbortController() }
    this.#retryMs = firstRetryMs
    if (this.#target) void this.#keepOpen(this.#target.ref, this.#target.abort.signal)
  }

  /** Lets the agent send the next frame. */
  acknowledge(): void {
    if (this.#lastFrame === this.#acknowledgedFrame) return
    this.#acknowledgedFrame = this.#lastFrame
    this.#stream?.send({ type: 'taken', frame: this.#lastFrame })
  }

  [Symbol.dispose](): void {
    this.follow(null)
  }

  async #keepOpen(ref: GuestRef, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#read(ref, signal)
      } catch (error) {
        const isExpected = error instanceof GuestUnavailable || error instanceof GuestRefusal
        if (!isExpected && !signal.aborted) {
          this.#app.log.warn(
            { err: error, machine_id: ref.id },
            'the screen stream to the agent failed; will reconnect',
          )
        }
      }
      await pause(this.#retryMs, signal)
      this.#retryMs = Math.min(2 * this.#retryMs, maxRetryMs)
    }
  }

  /** Resolves when the stream has ended. */
  async #read(ref: GuestRef, signal: AbortSignal): Promise<void> {
    using stream = await openScreen(this.#app.guests.channels, ref, signal)
    const end = () => stream[Symbol.dispose]()
    signal.addEventListener('abort', end)
    try {
      signal.throwIfAborted()
      this.#stream = stream
      this.#lastFrame = 0
      this.#acknowledgedFrame = 0
      this.framebuffer.discardPending()
      await stream.read((message) => {
        if (signal.aborted) return
        if ('payload' in message) this.framebuffer.addTile(readTile(message.payload))
        else this.#take(message.control)
      })
    } finally {
      signal.removeEventListener('abort', end)
      if (this.#stream === stream) this.#stream = null
    }
  }

  #take(message: ScreenFromGuest): void {
    switch (message.type) {
      case 'geometry':
        return this.framebuffer.setGeometry(message)
      case 'frame':
        this.#lastFrame = message.frame
        this.#retryMs = firstRetryMs
        return this.#listener.onFrame(this.framebuffer.endFrame())
      case 'cursor':
        return this.#listener.onCursor(message)
      case 'clipboard':
        return this.#listener.onCopiedText(message.text)
      case 'refused':
        return this.#listener.onRefused(message)
    }
  }
}

function isSameBoot(a: GuestRef | null, b: GuestRef | null): boolean {
  return a?.id === b?.id && a?.generation === b?.generation && a?.run === b?.run
}
