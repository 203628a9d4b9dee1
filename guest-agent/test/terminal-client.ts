import { encodeControl, encodeFrame, FrameReader } from '@computer/contract/guest-frames'
import { limitsFromGuest } from '@computer/contract/guest-streams'
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'

/** The server's end of a terminal's stream. */
export class TerminalClient {
  readonly stream: Duplex
  readonly exit: Promise<number>
  #chunks: Buffer[] = []
  readonly #exit = Promise.withResolvers<number>()

  constructor(stream: Duplex) {
    this.stream = stream
    this.exit = this.#exit.promise
  }

  read(): void {
    const reader = new FrameReader(limitsFromGuest)
    this.stream.on('data', (chunk: Buffer) => {
      for (const { kind, payload } of reader.push(chunk)) {
        if (kind === 1) this.#chunks.push(Buffer.from(payload))
        else {
          const message = JSON.parse(payload.toString())
          if (message.type === 'exit') this.#exit.resolve(message.exit_code)
        }
      }
    })
  }

  get bytes(): Buffer {
    const whole = Buffer.concat(this.#chunks)
    this.#chunks = [whole]
    return whole
  }

  get text(): string {
    return this.bytes.toString()
  }

  write(data: string | Buffer): void {
    this.stream.write(encodeFrame(1, Buffer.from(data)))
  }

  resize(cols: number, rows: number): void {
    this.stream.write(encodeControl({ type: 'resize', cols, rows }))
  }

  async until(pattern: RegExp): Promise<RegExpExecArray> {
    await until(() => pattern.test(this.text))
    return pattern.exec(this.text)!
  }
}

export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await pause(5)
}
