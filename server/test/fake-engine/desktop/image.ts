import type { GuestScreenshotQuery } from '@computer/contract/guest-desktop'
import { crc32, deflateSync } from 'node:zlib'
import { GuestFault } from '../guest/fault.ts'
import type { Screen } from './desktop.ts'

/**
 * Images of a screen in one flat colour, in the screen's size and small on the wire. The colour
 * changes with every change of the screen; PNG shows the pointer too.
 */
export function drawScreen(format: 'png' | 'jpeg' | 'webp', screen: Screen): Buffer {
  if (format === 'png') return drawPng(screen)
  return format === 'jpeg' ? drawJpeg(screen) : drawWebp(screen)
}

/** The screen as a picture of a part of it shows it, scaled. */
export function showPart(
  screen: Screen,
  request: Pick<GuestScreenshotQuery, 'region' | 'scale' | 'max_width'>,
): Screen {
  const whole = [0, 0, screen.width, screen.height]
  const [x, y, width, height] = (request.region?.split(',').map(Number) ?? whole) as Area
  if (x + width > screen.width || y + height > screen.height) {
    throw new GuestFault('invalid_request', 'the region is not inside the display')
  }
  const factor = Math.min(request.scale ?? 1, (request.max_width ?? width) / width)
  const scaled = (length: number) => Math.max(1, Math.floor(Number((length * factor).toFixed(6))))
  const { pointer } = screen
  return {
    ...screen,
    width: scaled(width),
    height: scaled(height),
    pointer: {
      x: Math.floor((pointer.x - x) * factor),
      y: Math.floor((pointer.y - y) * factor),
    },
  }
}

type Area = [x: number, y: number, width: number, height: number]

/** One bit a pixel: the ground, and a square where the pointer is. */
function drawPng({ width, height, pointer, changes }: Screen): Buffer {
  const rowBytes = 1 + Math.ceil(width / 8)
  const rows = Buffer.alloc(rowBytes * height)
  for (let y = pointer.y; y < Math.min(pointer.y + 8, height); y += 1) {
    for (let x = pointer.x; x < Math.min(pointer.x + 8, width); x += 1) {
      rows[y * rowBytes + 1 + (x >> 3)]! |= 0x80 >> (x & 7)
    }
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([1, 3, 0, 0, 0], 8)
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', header),
    pngChunk('PLTE', Buffer.from([...groundColour(changes), 255, 255, 255])),
    pngChunk('IDAT', deflateSync(rows, { level: 1 })),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

function pngChunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const chunk = Buffer.alloc(typed.length + 8)
  chunk.writeUInt32BE(data.length, 0)
  typed.copy(chunk, 4)
  chunk.writeUInt32BE(crc32(typed), typed.length + 4)
  return chunk
}

/** Baseline, grey: the first block sets the level, every later one repeats it in two bits. */
function drawJpeg({ width, height, changes }: Screen): Buffer {
  const level = 1 + ((changes * 7) % 127)
  const levelBits = level.toString(2)
  const blocks = Math.ceil(width / 8) * Math.ceil(height / 8)
  const head = `10${levelBits}0`
  const bits = head.length + 2 * (blocks - 1)
  const data = Buffer.alloc(Math.ceil(bits / 8))
  for (const [index, bit] of [...head].entries()) {
    if (bit === '1') data[index >> 3]! |= 0x80 >> (index & 7)
  }
  data[data.length - 1]! |= 0xff >> (bits % 8 || 8)
  const size = [height >> 8, height & 255, width >> 8, width & 255]
  const oneSymbolTable = [1, ...Array<number>(15).fill(0)]
  const twoSymbolTable = [1, 1, ...Array<number>(14).fill(0)]
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    jpegSegment(0xe0, [...Buffer.from('JFIF\0', 'latin1'), 1, 1, 0, 0, 1, 0, 1, 0, 0]),
    jpegSegment(0xdb, [0, ...Array<number>(64).fill(8)]),
    jpegSegment(0xc0, [8, ...size, 1, 1, 0x11, 0]),
    jpegSegment(0xc4, [0x00, ...twoSymbolTable, 0, levelBits.length]),
    jpegSegment(0xc4, [0x10, ...oneSymbolTable, 0]),
    jpegSegment(0xda, [1, 1, 0, 0, 63, 0]),
    data,
    Buffer.from([0xff, 0xd9]),
  ])
}

function jpegSegment(marker: number, data: readonly number[]): Buffer {
  const length = data.length + 2
  return Buffer.from([0xff, marker, length >> 8, length & 255, ...data])
}

/** Lossless, with one symbol in every prefix code, so that a pixel takes no bit at all. */
function drawWebp({ width, height, changes }: Screen): Buffer {
  const [red, green, blue] = groundColour(changes)
  // Least significant bit first: value and width of each field.
  const fields: [number, number][] = [
    [width - 1, 14],
    [height - 1, 14],
    [0, 1 + 3],
    [0, 3],
    ...[green, red, blue, 255].map((symbol): [number, number] => [0b101 | (symbol << 3), 11]),
    [0b0001, 4],
  ]
  const bits = fields.flatMap(([value, count]) =>
    Array.from({ length: count }, (_, index) => (value >> index) & 1),
  )
  const stream = Buffer.alloc(Math.ceil(bits.length / 8) + 1)
  stream[0] = 0x2f
  for (const [index, bit] of bits.entries()) stream[1 + (index >> 3)]! |= bit << (index & 7)
  const padded = Buffer.concat([stream, Buffer.alloc(stream.length % 2)])
  const header = Buffer.from('RIFF\0\0\0\0WEBPVP8L\0\0\0\0', 'latin1')
  header.writeUInt32LE(12 + padded.length, 4)
  header.writeUInt32LE(stream.length, 16)
  return Buffer.concat([header, padded])
}

function groundColour(changes: number): [number, number, number] {
  return [36, 64 + ((changes * 37) % 128), 96 + ((changes * 11) % 128)]
}
