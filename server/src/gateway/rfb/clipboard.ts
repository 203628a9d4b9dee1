import { constants, deflateSync, inflateSync } from 'node:zlib'
import { maxTextBytes } from './client-messages.ts'
import { RfbError } from './error.ts'

/**
 * The clipboard of one viewer. The plain form has Latin-1, sent without being asked. The extended one
 * has UTF-8: each side tells that there is text, and gives it when it is asked for it.
 */
export class RfbClipboard {
  readonly #send: (message: Buffer) => void
  readonly #onText: (text: string) => void
  #isExtended = false
  /** What RFB has a viewer be able to do that has not told. */
  #able = { takes: text | request | notify | provide, mostUnasked: 20 * 1024 * 1024 }
  #copied: { readonly text: string; provided?: Buffer } | undefined

  constructor(send: (message: Buffer) => void, onText: (text: string) => void) {
    this.#send = send
    this.#onText = onText
  }

  /** What the viewer has listed, each time. It is told then what of the extended form there is here. */
  setForm(isExtended: boolean): void {
    this.#isExtended = isExtended
    if (!isExtended) return
    const nothingUnasked = 0
    this.#send(extendedMessage(caps | request | peek | notify | provide | text, [nothingUnasked]))
  }

  /** Text that was copied in the machine. */
  offer(copied: string): void {
    if (!this.#isExtended) return this.#send(plainMessage(copied))
    this.#copied = { text: copied }
    const { takes, mostUnasked } = this.#able
    if ((takes & text) === 0) return
    if ((takes & notify) !== 0) this.#send(extendedMessage(notify | text))
    else if ((takes & provide) !== 0 && Buffer.byteLength(copied) <= mostUnasked) this.#give()
  }

  receivePlain(latin1: string): void {
    this.#onText(toLinefeeds(latin1))
  }

  /** Throws RfbError. */
  receiveExtended(bytes: Buffer): void {
    if (bytes.length < 4) throw new RfbError(`a clipboard message of ${bytes.length} bytes`)
    const flags = bytes.readUInt32BE(0)
    if ((flags & caps) !== 0) return this.#learn(flags, bytes.subarray(4))
    const action = flags & actionMask
    if (action === provide) {
      if ((flags & text) !== 0) this.#onText(readProvided(bytes.subarray(4)))
      return
    }
    if (bytes.length !== 4) throw new RfbError('a clipboard message with more than its flags')
    switch (action) {
      case notify:
        if ((flags & text) !== 0 && (this.#able.takes & request) !== 0) {
          this.#send(extendedMessage(request | text))
        }
        return
      case request:
        if ((flags & text) !== 0) this.#give()
        return
      case peek:
        return this.#send(extendedMessage(notify | (this.#copied ? text : 0)))
      default:
        throw new RfbError(`a clipboard message with flags ${flags.toString(16)}`)
    }
  }

  #learn(flags: number, sizes: Buffer): void {
    const formats = [...Array(16).keys()].filter((bit) => (flags & (1 << bit)) !== 0)
    if (sizes.length !== formats.length * 4)
      throw new RfbError('clipboard caps without their sizes')
    const mostUnasked = (flags & text) === 0 ? 0 : sizes.readUInt32BE(0)
    this.#able = { takes: flags, mostUnasked }
  }

  /** Deflated once, however often it is asked for. */
  #give(): void {
    if (!this.#copied) return
    this.#copied.provided ??= providedMessage(this.#copied.text)
    this.#send(this.#copied.provided)
  }
}

/** Bits of the flags: the one format there is here, and what is done. */
const text = 1
const caps = 1 << 24
const request = 1 << 25
const peek = 1 << 26
const notify = 1 << 27
const provide = 1 << 28
const actionMask = 0xff << 24

function plainMessage(copied: string): Buffer {
  const latin1 = toLinefeeds(copied).replaceAll(/[^\0-\xff]/gu, '?')
  const body = Buffer.from(latin1, 'latin1')
  return Buffer.concat([cutTextHead(body.length), body])
}

/** A length below zero is what tells it from the plain one. */
function extendedMessage(flags: number, sizes: readonly number[] = [], data?: Buffer): Buffer {
  const body = Buffer.alloc(4 + sizes.length * 4)
  for (const [index, value] of [flags, ...sizes].entries()) body.writeInt32BE(value, index * 4)
  const length = body.length + (data?.length ?? 0)
  return Buffer.concat([cutTextHead(-length), body, ...(data ? [data] : [])])
}

function cutTextHead(length: number): Buffer {
  const head = Buffer.alloc(8)
  const serverCutText = 3
  head.writeUInt8(serverCutText, 0)
  head.writeInt32BE(length, 4)
  return head
}

function providedMessage(copied: string): Buffer {
  const bytes = Buffer.from(toLinefeeds(copied).replaceAll('\n', '\r\n') + '\0')
  const size = Buffer.alloc(4)
  size.writeUInt32BE(bytes.length)
  return extendedMessage(
    provide | text,
    [],
    deflateSync(Buffer.concat([size, bytes]), { level: 1 }),
  )
}

/** Text comes first of what is provided, and no other format was asked for. */
function readProvided(deflated: Buffer): string {
  const bytes = inflateText(deflated)
  const size = bytes.length < 4 ? Infinity : bytes.readUInt32BE(0)
  if (size > bytes.length - 4) throw new RfbError('clipboard text that ends too early')
  return toLinefeeds(bytes.toString('utf8', 4, 4 + size).replace(/\0$/, ''))
}

function inflateText(deflated: Buffer): Buffer {
  const options = {
    // Viewers flush the stream and do not end it.
    finishFlush: constants.Z_SYNC_FLUSH,
    maxOutputLength: 4 + maxTextBytes + 1,
  }
  try {
    return inflateSync(deflated, options)
  } catch (error) {
    const isTooLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
    const what = isTooLarge ? 'clipboard text above its bound' : 'clipboard text that is not zlib'
    throw new RfbError(what, { cause: error, isTooLarge })
  }
}

function toLinefeeds(lines: string): string {
  return lines.replaceAll(/\r\n?/g, '\n')
}
