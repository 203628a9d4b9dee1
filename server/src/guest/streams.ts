import {
  encodeControl,
  encodeFrame,
  frameKind,
  FrameReader,
  limitsFromGuest,
} from '@computer/contract'
import type { ClientHttp2Stream } from 'node:http2'
import type { z } from 'zod'
import { acceptAnswer } from './answer.ts'
import type { GuestChannels, GuestRef } from './channels.ts'
import { parseJson } from './json.ts'

const maxControlValues = 100

/** A message from the agent: a control message of the stream's schema, or payload. */
export type GuestMessage<Control> = { readonly control: Control } | { readonly payload: Buffer }

/**
 * A stream to the agent (contract, guest-streams.ts), open until either side ends it. Messages come in
 * order; while they are not read, flow control holds the agent back, so none pile up here.
 */
export class GuestStream<Control> implements Disposable {
  readonly #stream: ClientHttp2Stream
  readonly #schema: z.ZodType<Control>

  constructor(stream: ClientHttp2Stream, schema: z.ZodType<Control>) {
    this.#stream = stream
    this.#schema = schema
    // The reader of the messages gets the error.
    stream.on('error', () => {})
  }

  get closed(): boolean {
    return this.#stream.destroyed || this.#stream.writableEnded
  }

  /** Sent bytes that the agent has not taken yet. */
  get bufferedBytes(): number {
    return this.#stream.writableLength
  }

  onClose(listener: () => void): void {
    if (this.#stream.destroyed) listener()
    else this.#stream.once('close', listener)
  }

  /** False when the buffer is full: continue after `drained`. */
  send(message: unknown): boolean {
    return this.closed || this.#stream.write(encodeControl(message))
  }

  sendPayload(bytes: Buffer): boolean {
    return this.closed || this.#stream.write(encodeFrame(frameKind.payload, bytes))
  }

  /** Resolves when more can be sent, or when the stream has ended. */
  async drained(): Promise<void> {
    if (this.closed || !this.#stream.writableNeedDrain) return
    await new Promise<void>((resolve) => {
      this.#stream.once('drain', resolve)
      this.#stream.once('close', resolve)
    })
  }

  /**
   * Hands the messages over, in order, until the stream ends, cleanly or not. If the listener returns a
   * promise, the next message waits for it. Throws at an invalid message: the agent is untrusted.
   */
  async read(listener: (message: GuestMessage<Control>) => Promise<void> | void): Promise<void> {
    const stream = this.#stream
    const reader = new FrameReader(limitsFromGuest)
    let failure: { readonly error: unknown } | undefined
    let taking: Promise<void> | undefined
    if (!stream.destroyed) {
      const closed = new Promise((resolve) => stream.once('close', resolve))
      stream.once('end', () => stream.destroy())
      // Messages are handled within the event, so that their cost is counted (work-budget.ts).
      stream.on('data', (chunk: Buffer) => {
        taking = this.#take(reader.push(chunk), listener).catch((error: unknown) => {
          failure = { error }
          stream.destroy()
        })
      })
      await closed
    }
    await taking
    if (failure) throw failure.error
  }

  async #take(
    frames: ReturnType<FrameReader['push']>,
    listener: (message: GuestMessage<Control>) => Promise<void> | void,
  ): Promise<void> {
    for (const { kind, payload } of frames) {
      if (this.#stream.destroyed) return
      const message =
        kind === frameKind.payload
          ? { payload }
          : { control: this.#schema.parse(parseJson(payload, maxControlValues)) }
      const handled = listener(message)
      if (!handled) continue
      this.#stream.pause()
      await handled
      this.#stream.resume()
    }
  }

  [Symbol.dispose](): void {
    this.#stream.destroy()
  }
}

/** Resolves when the agent has accepted. Throws GuestRefusal or GuestUnavailable. */
export async function openGuestStream<Control>(
  channels: GuestChannels,
  ref: GuestRef,
  path: string,
  schema: z.ZodType<Control>,
  options: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
): Promise<GuestStream<Control>> {
  const request = { method: 'POST', path, duplex: true, urgent: true, ...options } as const
  return channels.request(ref, request, async (answer) => {
    try {
      await acceptAnswer(answer)
    } catch (error) {
      answer.stream.destroy()
      throw error
    }
    return new GuestStream(answer.stream, schema)
  })
}
