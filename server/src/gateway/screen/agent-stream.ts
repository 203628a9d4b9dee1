import type { ScreenFromGuest, SessionId } from '@computer/contract'
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
  /** The agent shows the screen to another session alone. */
  readonly onPrivate: () => void
}

/** The boot of the machine to stream from, and the session of all who see it while the screen is private. */
type Source = { readonly ref: GuestRef; readonly viewer: SessionId | null }

/**
 * The screen stream to the agent of one machine, shared by all clients in this process. While the
 * machine runs, one stream is kept open and reopened with back-off when it breaks.
 */
export class AgentStream implements Disposable {
  readonly framebuffer = new Framebuffer()
  readonly #app: Pick<App, 'guests' | 'log'>
  readonly #listener: AgentStreamListener
  #target: { readonly source: Source; readonly abort: AbortController } | null = null
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

  /** The session that the stream is for; null if it is for all, or there is none. */
  get viewer(): SessionId | null {
    return this.#target && this.#target.source.viewer
  }

  /** Streams from there; null while the machine is not running. What one viewer saw is not shown to the next. */
  follow(source: Source | null): void {
    const before = this.#target && this.#target.source
    const isSameViewer = this.viewer === (source?.viewer ?? null)
    if (isSameViewer && isSameBoot(before && before.ref, source && source.ref)) return
    if (!isSameViewer) this.framebuffer.clear()
    this.#target?.abort.abort()
    this.#target = source && { source, abort: new AbortController() }
    this.#retryMs = firstRetryMs
    if (this.#target) void this.#keepOpen(this.#target.source, this.#target.abort.signal)
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

  async #keepOpen(source: Source, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#read(source, signal)
      } catch (error) {
        if (error instanceof GuestRefusal && error.reason === 'screen_private') {
          this.#listener.onPrivate()
        }
        const isExpected = error instanceof GuestUnavailable || error instanceof GuestRefusal
        if (!isExpected && !signal.aborted) {
          this.#app.log.warn(
            { err: error, machine_id: source.ref.id },
            'the screen stream to the agent failed; will reconnect',
          )
        }
      }
      await pause(this.#retryMs, signal)
      this.#retryMs = Math.min(2 * this.#retryMs, maxRetryMs)
    }
  }

  /** Resolves when the stream has ended. */
  async #read({ ref, viewer }: Source, signal: AbortSignal): Promise<void> {
    using stream = await openScreen(this.#app.guests.channels, ref, viewer, signal)
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
