import type { ByteQueue } from './byte-queue.ts'
import type { Abilities } from './encodings.ts'
import { RfbError } from './error.ts'
import { pixelFormatBytes, readPixelFormat, type PixelFormat } from './pixel-format.ts'
import type { Geometry, Rectangle } from './tile.ts'

export type ClientMessage =
  | { readonly type: 'pixel_format'; readonly format: PixelFormat }
  | { readonly type: 'encodings'; readonly encodings: readonly number[] }
  | { readonly type: 'update_request'; readonly isIncremental: boolean; readonly area: Rectangle }
  | { readonly type: 'key'; readonly keysym: number; readonly down: boolean }
  | {
      readonly type: 'pointer'
      readonly x: number
      readonly y: number
      readonly buttons: number
    }
  /** Clipboard text in the original Latin-1 form. */
  | { readonly type: 'latin1_text'; readonly text: string }
  /** A message of the extended clipboard, without its length. */
  | { readonly type: 'clipboard'; readonly bytes: Buffer }
  | { readonly type: 'desktop_size'; readonly size: Geometry; readonly screens: number }

/** Encodings listed by the client that change the format of messages. */
type Listed = Pick<Abilities, 'extendedClipboard' | 'resize'>

/** Upper bound on clipboard text. */
export const maxTextBytes = 256 * 1024

/** Takes one message if it is complete. Throws RfbError as soon as it is known to be invalid. */
export function takeMessage(queue: ByteQueue, listed: Listed): ClientMessage | undefined {
  const type = queue.peek(1)?.[0]
  if (type === undefined) return undefined
  const kind = kinds[type]
  if (!kind) throw new RfbError(`unknown message type ${type}`)
  const head = queue.peek(kind.headBytes)
  if (!head) return undefined
  const bytes = queue.take(kind.headBytes + (kind.bodyBytes?.(head, listed) ?? 0))
  return bytes && kind.read(bytes, listed)
}

type Kind = {
  readonly headBytes: number
  /** The length of what follows the head. */
  readonly bodyBytes?: (head: Buffer, listed: Listed) => number
  readonly read: (bytes: Buffer, listed: Listed) => ClientMessage
}

const kinds: Readonly<Record<number, Kind>> = {
  0: {
    headBytes: 4 + pixelFormatBytes,
    read: (bytes) => ({ type: 'pixel_format', format: readPixelFormat(bytes.subarray(4)) }),
  },
  2: {
    headBytes: 4,
    bodyBytes: (head) => {
      const count = head.readUInt16BE(2)
      if (count > maxEncodings)
        throw new RfbError(`a list of ${count} encodings, the limit is ${maxEncodings}`, {
          isTooLarge: true,
        })
      return count * 4
    },
    read: (bytes) => ({
      type: 'encodings',
      encodings: Array.from({ length: bytes.readUInt16BE(2) }, (_, index) =>
        bytes.readInt32BE(4 + index * 4),
      ),
    }),
  },
  3: {
    headBytes: 10,
    read: (bytes) => ({
      type: 'update_request',
      isIncremental: bytes[1] !== 0,
      area: {
        x: bytes.readUInt16BE(2),
        y: bytes.readUInt16BE(4),
        width: bytes.readUInt16BE(6),
        height: bytes.readUInt16BE(8),
      },
    }),
  },
  4: {
    headBytes: 8,
    read: (bytes) => ({ type: 'key', keysym: bytes.readUInt32BE(4), down: bytes[1] !== 0 }),
  },
  5: {
    headBytes: 6,
    read: (bytes) => ({
      type: 'pointer',
      x: bytes.readUInt16BE(2),
      y: bytes.readUInt16BE(4),
      buttons: bytes.readUInt8(1),
    }),
  },
  6: {
    headBytes: 8,
    bodyBytes: (head, listed) => {
      const isExtended = isExtendedText(head, listed)
      const length = isExtended ? -head.readInt32BE(4) : head.readUInt32BE(4)
      if (length > (isExtended ? maxExtendedBytes : maxTextBytes)) {
        throw new RfbError(`${length} bytes of clipboard text`, { isTooLarge: true })
      }
      return length
    },
    read: (bytes, listed) =>
      isExtendedText(bytes, listed)
        ? { type: 'clipboard', bytes: bytes.subarray(8) }
        : { type: 'latin1_text', text: bytes.toString('latin1', 8) },
  },
  251: {
    headBytes: 8,
    bodyBytes: (head, { resize }) => {
      if (resize !== 'extended') throw new RfbError('SetDesktopSize was not offered')
      return head.readUInt8(6) * 16
    },
    read: (bytes) => ({
      type: 'desktop_size',
      size: { width: bytes.readUInt16BE(2), height: bytes.readUInt16BE(4) },
      screens: bytes.readUInt8(6),
    }),
  },
}

const maxEncodings = 1024
/** Incompressible text grows slightly when it is deflated. */
const maxExtendedBytes = maxTextBytes + 1024

/** A negative length marks the extended form. Without the extension it is a length that is too large. */
function isExtendedText(head: Buffer, { extendedClipboard }: Listed): boolean {
  return extendedClipboard && head.readInt32BE(4) < 0
}
