import { deflateSync } from 'node:zlib'
import { writeFormat, type TestFormat } from './rfb-format.ts'

export type Size = { readonly width: number; readonly height: number }
export type Area = Size & { readonly x: number; readonly y: number }

/** Encodings and pseudo-encodings. */
export const rfb = {
  raw: 0,
  tight: 7,
  quality6: -26,
  desktopSize: -223,
  cursor: -239,
  extendedDesktopSize: -308,
  cursorWithAlpha: -314,
  vmwareCursor: 0x574d5664,
  extendedClipboard: 0xc0a1e5ce | 0,
} as const

/** Flags of an extended clipboard message. */
export const clipboardFlag = {
  text: 1,
  caps: 1 << 24,
  request: 1 << 25,
  peek: 1 << 26,
  notify: 1 << 27,
  provide: 1 << 28,
} as const

/** Client messages as bytes. */
export const messages = {
  setFormat: (format: TestFormat) => Buffer.concat([Buffer.alloc(4), writeFormat(format)]),
  setEncodings: (encodings: readonly number[]) =>
    Buffer.concat([Buffer.of(2, 0), u16(encodings.length), s32(...encodings)]),
  requestUpdate: (isIncremental: boolean, { x, y, width, height }: Area) =>
    Buffer.concat([Buffer.of(3, isIncremental ? 1 : 0), u16(x, y, width, height)]),
  key: (keysym: number, down: boolean) =>
    Buffer.concat([Buffer.of(4, down ? 1 : 0, 0, 0), s32(keysym)]),
  pointer: (x: number, y: number, buttons: number) =>
    Buffer.concat([Buffer.of(5, buttons), u16(x, y)]),
  latin1: (text: string) => {
    const bytes = Buffer.from(text, 'latin1')
    return Buffer.concat([Buffer.of(6, 0, 0, 0), s32(bytes.length), bytes])
  },
  clipboard: (flags: number, body: Buffer = Buffer.alloc(0)) =>
    Buffer.concat([Buffer.of(6, 0, 0, 0), s32(-4 - body.length, flags), body]),
  /** Provides text by the extended clipboard, with its line ends. */
  provide: (text: string) => {
    const bytes = Buffer.from(text.replaceAll(/\r\n|\r|\n/g, '\r\n') + '\0')
    const body = deflateSync(Buffer.concat([s32(bytes.length), bytes]))
    return messages.clipboard(clipboardFlag.provide | clipboardFlag.text, body)
  },
  setDesktopSize: ({ width, height }: Size, screens = 1) => {
    const screen = Buffer.concat([s32(0), u16(0, 0, width, height), s32(0)])
    const head = Buffer.concat([Buffer.of(251, 0), u16(width, height), Buffer.of(screens, 0)])
    return Buffer.concat([head, ...Array.from({ length: screens }, () => screen)])
  },
}

export function u16(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2)
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, index * 2)
  return bytes
}

export function s32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [index, value] of values.entries()) bytes.writeInt32BE(value | 0, index * 4)
  return bytes
}
