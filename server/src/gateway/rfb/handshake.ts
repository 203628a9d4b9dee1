import type { ByteQueue } from './byte-queue.ts'
import { RfbError } from './error.ts'
import { naturalFormat, writePixelFormat } from './pixel-format.ts'
import type { Geometry } from './tile.ts'

/** The RFB handshake: version, security (none), and the shared flag. */
export class Handshake {
  readonly #send: (bytes: Buffer) => void
  #step: 'version' | 'security' | 'shared' = 'version'
  #minor: 3 | 7 | 8 = 8

  constructor(send: (bytes: Buffer) => void) {
    this.#send = send
    send(Buffer.from('RFB 003.008\n'))
  }

  /** True once the client is ready for `desktopMessage`. Throws RfbError. */
  advance(queue: ByteQueue): boolean {
    for (;;) {
      const bytes = queue.take(this.#step === 'version' ? versionBytes : 1)
      if (!bytes) return false
      switch (this.#step) {
        case 'version':
          this.#takeVersion(bytes.toString('latin1'))
          break
        case 'security':
          if (bytes[0] !== none) throw new RfbError(`security type ${bytes[0]} was not offered`)
          // Before 3.8 there is no SecurityResult for `none`.
          if (this.#minor === 8) this.#send(Buffer.alloc(4))
          this.#step = 'shared'
          break
        case 'shared':
          // Ignored: all clients are shared, RFB cannot disconnect others.
          return true
      }
    }
  }

  #takeVersion(line: string): void {
    const minor = /^RFB 003\.(\d{3})\n$/.exec(line)?.[1]
    if (minor === undefined) throw new RfbError('not a protocol version of RFB 3')
    this.#minor = Number(minor) >= 8 ? 8 : minor === '007' ? 7 : 3
    const [offered, chosen] = [Buffer.of(1, none), Buffer.of(0, 0, 0, none)]
    this.#send(this.#minor === 3 ? chosen : offered)
    this.#step = this.#minor === 3 ? 'shared' : 'security'
  }
}

const versionBytes = 12
/** The only security type, because the gateway has authenticated the client already. */
const none = 1

export function desktopMessage(name: string, { width, height }: Geometry): Buffer {
  const title = Buffer.from(name)
  const numbers = Buffer.alloc(8)
  numbers.writeUInt16BE(width, 0)
  numbers.writeUInt16BE(height, 2)
  numbers.writeUInt32BE(title.length, 4)
  const format = writePixelFormat(naturalFormat)
  return Buffer.concat([numbers.subarray(0, 4), format, numbers.subarray(4), title])
}
