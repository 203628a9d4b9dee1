import type { GuestInputEvent, ScreenFromGuest } from '@computer/contract'
import { setTimeout as pause } from 'node:timers/promises'
import type { App } from '../../app.ts'
import type { GuestRef } from '../../guest/channels.ts'
import { GuestRefusal, GuestUnavailable } from '../../guest/errors.ts'
import { openScreen, type ScreenStream } from '../../guest/screens.ts'
import { readTile } from '../rfb/tile.ts'
import { Framebuffer, type Change } from './framebuffer.ts'

const firstRetryMs = 100
const longestRetryMs = 2_000

export type AgentStreamListener = {
  readonly onFrame: (change: Change) => void
  readonly onCursor: (cursor: Extract<ScreenFromGuest, { type: 'cursor' }>) => void
  readonly onCopiedText: (text: string) => void
  readonly onRefused: (refused: Extract<ScreenFromGuest, { type: 'refused' }>) => void
}

/**
 * The stream to the agent of one machine, for all who view it here. While it is told in which run the
 * machine is, it keeps one open: a stream that breaks is opened again, after a pause that grows.
 */
export class AgentStream implements Disposable {
  readonly store = new Framebuffer()
  readonly #app: Pick<App, 'guests' | 'log'>
  readonly #listener: AgentStreamListener
  #target: { readonly ref: GuestRef; readonly abort: AbortController } | null = null
  #stream: ScreenStream | null = null
  #streams = 0
  #retryMs = firstRetryMs
  /** The last whole frame that came, and the last that the agent was told of. */
  #frame = 0
  #takenFrame = 0

  constructor(app: Pick<App, 'guests' | 'log'>, listener: AgentStreamListener) {
    this.#app = app
    this.#listener = listener
  }

  /** Names the stream that is open now; null while none is. */
  get epoch(): number | null {
    return this.#stream && !this.#stream.closed ? this.#streams : null
  }

  get ref(): GuestRef | null {
    return this.#target && this.#target.ref
  }

  /** Null: the machine is not running. */
  follow(ref: GuestRef | null): void {
    if (isSameRun(this.ref, ref)) return
    this.#target?.abort.abort()
    this.#target = ref && { ref, abort: new AbortController() }
    this.#retryMs = firstRetryMs
    if (this.#target) void this.#keepOpen(this.#target.ref, this.#target.abort.signal)
  }

  /** The agent may go on: somebody has what it sent. */
  acknowledge(): void {
    if (this.#frame === this.#takenFrame) return
    this.#takenFrame = this.#frame
    this.#stream?.send({ type: 'taken', frame: this.#frame })
  }

  /** False when the agent should be given time: go on after `drained`. */
  sendInput(viewer: number, fence: number, event: GuestInputEvent): boolean {
    return this.#stream?.send({ type: 'input', viewer, fence, event }) ?? true
  }

  async drained(): Promise<void> {
    await this.#stream?.drained()
  }

  [Symbol.dispose](): void {
    this.follow(null)
  }

  async #keepOpen(ref: GuestRef, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#read(ref, signal)
      } catch (error) {
        const isAway = error instanceof GuestUnavailable || error instanceof GuestRefusal
        if (!isAway && !signal.aborted) {
          this.#app.log.warn({ err: error, machine_id: ref.id }, 'a screen stream was broken off')
        }
      }
      // It resolves at once when the run is over.
      await pause(this.#retryMs, undefined, { signal }).catch(() => {})
      this.#retryMs = Math.min(2 * this.#retryMs, longestRetryMs)
    }
  }

  /** Until the stream ends. */
  async #read(ref: GuestRef, signal: AbortSignal): Promise<void> {
    using stream = await openScreen(this.#app.guests.channels, ref, signal)
    const end = () => stream[Symbol.dispose]()
    signal.addEventListener('abort', end)
    try {
      signal.throwIfAborted()
      this.#stream = stream
      this.#streams += 1
      this.#frame = 0
      this.#takenFrame = 0
      this.store.breakOff()
      for await (const message of stream) {
        if (signal.aborted) return
        if ('payload' in message) this.store.addTile(readTile(message.payload))
        else this.#take(message.control)
      }
    } finally {
      signal.removeEventListener('abort', end)
      if (this.#stream === stream) this.#stream = null
    }
  }

  #take(message: ScreenFromGuest): void {
    switch (message.type) {
      case 'geometry':
        return this.store.setGeometry(message)
      case 'frame':
        this.#frame = message.frame
        this.#retryMs = firstRetryMs
        return this.#listener.onFrame(this.store.endFrame())
      case 'cursor':
        return this.#listener.onCursor(message)
      case 'clipboard':
        return this.#listener.onCopiedText(message.text)
      case 'refused':
        return this.#listener.onRefused(message)
    }
  }
}

function isSameRun(a: GuestRef | null, b: GuestRef | null): boolean {
  return a?.id === b?.id && a?.generation === b?.generation && a?.run === b?.run
}
