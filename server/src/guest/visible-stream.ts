import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

/**
 * A socket whose bytes pass through JavaScript. HTTP/2 would read a bare socket natively, where nobody could
 * measure and limit the work that its bytes make (work-budget.ts).
 */
export class VisibleStream extends Duplex {
  readonly #socket: Socket

  constructor(socket: Socket) {
    super({ allowHalfOpen: true, highWaterMark: 256 * 1024 })
    this.#socket = socket
    socket.on('data', (data: Buffer) => {
      if (!this.push(data)) socket.pause()
    })
    socket.on('end', () => this.push(null))
    socket.on('error', (error) => this.destroy(error))
    socket.on('close', () => {
      // Bytes that arrived before may still be read. A socket that was destroyed has had no end.
      if (!socket.readableEnded) this.push(null)
      if (this.readableEnded) this.destroy()
      else this.once('end', () => this.destroy())
    })
  }

  override _read(): void {
    this.#socket.resume()
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done)
  }

  /** Chunks that were written meanwhile leave in one call to the kernel. */
  override _writev(
    chunks: readonly { readonly chunk: Buffer }[],
    done: (error?: Error | null) => void,
  ): void {
    this.#socket.write(Buffer.concat(chunks.map(({ chunk }) => chunk)), done)
  }

  override _final(done: () => void): void {
    this.#socket.end(done)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy()
    done(error)
  }
}
