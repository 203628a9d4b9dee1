import { constants, deflateSync, inflateSync } from 'node:zlib'
import { maxTextBytes } from './client-messages.ts'
import { RfbError } from './error.ts'

/**
 * The clipboard of one client. In the plain form, Latin-1 text is pushed. In the extended form, each
 * side announces UTF-8 text and provides it on request.
 */
export class RfbClipboard {
  readonly #send: (message: Buffer) => void
  readonly #onText: (text: string) => void
  #isExtended = false
  /** RFB's defaults until the client sends its caps. */
  #caps = { flags: text | request | notify | provide, maxUnsolicitedBytes: 20 * 1024 * 1024 }
  #copied: { readonly text: string; provided?: Buffer } | undefined

  constructor(send: (message: Buffer) => void, onText: (text: string) => void) {
    this.#send = send
    this.#onText = onText
  }

  /** Call it whenever the client lists encodings. Replies with the server's caps. */
  setForm(isExtended: boolean): void {
    this.#isExtended = isExtended
    if (!isExtended) return
    const maxUnsolicitedBytes = 0
    this.#send(
      extendedMessage(caps | request | peek | notify | provide | text, [maxUnsolicitedBytes]),
    )
  }

  /** Announces or sends text that was copied inside the machine. */
  offer(copied: string): void {
    if (!this.#isExtended) return this.#send(plainMessage(copied))
    this.#copied = { text: copied }
    const { flags, maxUnsolicitedBytes } = this.#caps
    if ((flags & text) === 0) return
    if ((flags & notify) !== 0) this.#send(extendedMessage(notify | text))
    else if ((flags & provide) !== 0 && Buffer.byteLength(copied) <= maxUnsolicitedBytes)
      this.#provide()
  }

  receivePlain(latin1: string): void {
    this.#onText(toLinefeeds(latin1))
  }

  /** Throws RfbError. */
  receiveExtended(bytes: Buffer): void {
    if (bytes.length < 4) throw new RfbError(`a clipboard message of only ${bytes.length} bytes`)
    const flags = bytes.readUInt32BE(0)
    if ((flags & caps) !== 0) return this.#readCaps(flags, bytes.subarray(4))
    const action = flags & actionMask
    if (action === provide) {
      if ((flags & text) !== 0) this.#onText(readProvided(bytes.subarray(4)))
      return
    }
    if (bytes.length !== 4) throw new RfbError('a clipboard message with data after its flags')
    switch (action) {
      case notify:
        if ((flags & text) !== 0 && (this.#caps.flags & request) !== 0) {
          this.#send(extendedMessage(request | text))
        }
        return
      case request:
        if ((flags & text) !== 0) this.#provide()
        return
      case peek:
        return this.#send(extendedMessage(notify | (this.#copied ? text : 0)))
      default:
        throw new RfbError(`a clipboard message with unknown flags ${flags.toString(16)}`)
    }
  }

  #readCaps(flags: number, sizes: Buffer): void {
    const formats = [...Array(16).keys()].filter((bit) => (flags & (1 << bit)) !== 0)
    if (sizes.length !== formats.length * 4)
      throw new RfbError('clipboard caps without their sizes')
    const maxUnsolicitedBytes = (flags & text) === 0 ? 0 : sizes.readUInt32BE(0)
    this.#caps = { flags, maxUnsolicitedBytes }
  }

  /** Deflated once, however often it is requested. */
  #provide(): void {
    if (!this.#copied) return
    this.#copied.provided ??= providedMessage(this.#copied.text)
    this.#send(this.#copied.provided)
  }
}

/** Flags: the only supported format, then the actions. */
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

/** A negative length marks the extended form. */
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

/** Text is the first format in the data, and the only one that is requested. */
function readProvided(deflated: Buffer): string {
  const bytes = inflateText(deflated)
  const size = bytes.length < 4 ? Infinity : bytes.readUInt32BE(0)
  if (size > bytes.length - 4) throw new RfbError('truncated clipboard text')
  return toLinefeeds(bytes.toString('utf8', 4, 4 + size).replace(/\0$/, ''))
}

function inflateText(deflated: Buffer): Buffer {
  const options = {
    // Clients flush the stream and do not end it.
    finishFlush: constants.Z_SYNC_FLUSH,
    maxOutputLength: 4 + maxTextBytes + 1,
  }
  try {
    return inflateSync(deflated, options)
  } catch (error) {
    const isTooLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
    const what = isTooLarge ? 'clipboard text over the limit' : 'clipboard text that is not zlib'
    throw new RfbError(what, { cause: error, isTooLarge })
  }
}

function toLinefeeds(lines: string): string {
  return lines.replaceAll(/\r\n?/g, '\n')
}
