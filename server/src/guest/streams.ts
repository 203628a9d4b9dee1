import { encodeControl, encodeFrame, frameKind, FrameReader } from '@computer/contract'
import type { ClientHttp2Stream } from 'node:http2'
import type { z } from 'zod'
import { acceptAnswer } from './answer.ts'
import type { GuestChannels, GuestRef } from './channels.ts'

/** A message from the agent: a control message of the stream's schema, or payload. */
export type GuestMessage<Control> = { readonly control: Control } | { readonly payload: Buffer }

/**
 * A stream to the agent (contract, guest-streams.ts), open until either side ends it. Messages come in
 * order; while they are not read, flow control holds the agent back, so none pile up here.
 */
export class GuestStream<Control> implements AsyncIterable<GuestMessage<Control>>, Disposable {
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

  /** Ends with the stream, cleanly or not. Throws at an invalid message: the agent is untrusted. */
  async *[Symbol.asyncIterator](): AsyncIterator<GuestMessage<Control>> {
    const reader = new FrameReader()
    try {
      for await (const chunk of this.#stream as AsyncIterable<Buffer>) {
        for (const { kind, payload } of reader.push(chunk)) {
          if (kind === frameKind.payload) yield { payload }
          else yield { control: this.#schema.parse(JSON.parse(payload.toString('utf8'))) }
        }
      }
    } catch (error) {
      if (!this.#stream.errored && !this.#stream.aborted) throw error
    } finally {
      this.#stream.destroy()
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
