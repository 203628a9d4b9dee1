import { encodeControl, encodeFrame, frameKind } from '@computer/contract'
import type { ServerHttp2Stream } from 'node:http2'
import type { Random } from '../../../e2e/harness/random.ts'
import { flood } from './answers.ts'

const mebibyte = 1024 * 1024
const geometry = (width: number, height: number) =>
  encodeControl({ type: 'geometry', width, height })

/** Bytes for a stream (contract, guest-streams.ts) that break its rules, or cost far more than others. */
const pieces: readonly (() => Buffer)[] = [
  () => repeat(encodeControl({ type: 'frame', frame: 1 }), 2_000),
  () => repeat(encodeControl({ type: 'attached' }), 2_000),
  () => repeat(encodeFrame(frameKind.payload), 10_000),
  () => repeat(geometry(7680, 4320), 500),
  () => geometry(2 ** 31, 1),
  () => Buffer.concat([geometry(7680, 4320), tiles(4_000)]),
  () =>
    Buffer.concat([geometry(1280, 800), tiles(50), encodeControl({ type: 'frame', frame: -1 })]),
  () => encodeFrame(frameKind.control, Buffer.from(`[${'0,'.repeat(500_000)}0]`)),
  () => encodeFrame(frameKind.control, Buffer.from('['.repeat(mebibyte))),
  () => encodeControl({ type: 'clipboard', text: 'x'.repeat(mebibyte) }),
  () => encodeControl({ type: 'clipboard', text: 'x'.repeat(15 * mebibyte) }),
  () =>
    encodeControl({
      type: 'cursor',
      width: 1e9,
      height: 1e9,
      x: -1,
      y: 0,
      pixels: '!'.repeat(1000),
    }),
  () => encodeControl({ type: 'cursor', width: 16, height: 16, x: 0, y: 0, pixels: pixels(16) }),
  () => encodeControl({ type: 'exit', exit_code: 2 ** 40 }),
  () =>
    encodeControl({
      type: 'refused',
      viewer: 1,
      fence: 1,
      error: { code: 'conflict', message: 'x'.repeat(100_000), reason: 'fence_stale' },
    }),
  () => encodeFrame(200, Buffer.from('{}')),
  () => Buffer.from([0xff, 0xff, 0xff, 0xff, 1]),
  () => Buffer.from([0, 0, 0]),
]

/** Opens a stream and sends anything. */
export function streamAnything(stream: ServerHttp2Stream, random: Random): void {
  stream.respond({ ':status': 200 })
  stream.resume()
  void (async () => {
    for (let count = 1 + random.below(6); count > 0; count--) {
      await flood(stream, random.pick(pieces)(), random.pick([1, 1, 1, 20]))
    }
    if (random.below(2) === 0) stream.end()
  })()
}

/** Tiles of one pixel, each as long as such a tile may be, with a JPEG that is none. */
function tiles(count: number): Buffer {
  const body = Buffer.alloc(900, 0xd8)
  body.writeUInt8(0x90, 0)
  body.writeUInt16BE(0xff_d8, 3)
  // The compact length of the rest.
  body.writeUInt8(((body.length - 3) & 0x7f) | 0x80, 1)
  body.writeUInt8((body.length - 3) >> 7, 2)
  return Buffer.concat(
    Array.from({ length: count }, (_, at) => {
      const head = Buffer.alloc(8)
      head.writeUInt16BE(at % 1000, 0)
      head.writeUInt16BE(Math.floor(at / 1000), 2)
      head.writeUInt16BE(1, 4)
      head.writeUInt16BE(1, 6)
      return encodeFrame(frameKind.payload, head, body)
    }),
  )
}

function pixels(side: number): string {
  return Buffer.alloc(side * side * 4, 0x7f).toString('base64')
}

function repeat(bytes: Buffer, times: number): Buffer {
  return Buffer.concat(Array.from({ length: times }, () => bytes))
}
