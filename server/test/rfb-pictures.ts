import { makeFrame, readRgb } from '../../guest-agent/src/screen/frame.ts'
import { encodeTile } from '../../guest-agent/src/screen/tile-codec.ts'
import { readTile, type Rectangle, type Tile } from '../src/gateway/rfb/tile.ts'
import { u16 } from './rfb-messages.ts'

export type Painted = { readonly tile: Tile; readonly rgb: Buffer }

/** A tile in the agent's encoding, with its pixels. `colourAt` takes coordinates within the tile. */
export async function paintTile(
  area: Rectangle,
  colourAt: (x: number, y: number) => number,
): Promise<Painted> {
  const { x, y, width, height } = area
  const frame = makeFrame({ width, height })
  for (let at = 0; at < frame.pixels.length; at++) {
    frame.pixels[at] = colourAt(at % width, Math.floor(at / width))
  }
  const whole = { x: 0, y: 0, width, height }
  const { body } = await encodeTile(frame, whole, 'moving')
  const tile = readTile(Buffer.concat([u16(x, y, width, height), body]))
  return { tile, rgb: readRgb(frame, whole) }
}

/** One picture for each of the agent's encodings. All but JPEG are lossless. */
export const pictures = {
  fill: () => 0x3366cc,
  bits: (x: number, y: number) => ((x ^ y) & 3 ? 0xffffff : 0x102030),
  palette: (x: number, y: number) => ((x % 16) * 0x0b_0d_07) ^ (y % 3),
  copied: (x: number, y: number) => ((x >> 2) << 8) | y,
  jpeg: (x: number, y: number) => ((x & 0xff) << 16) | ((y & 0xff) << 8) | ((x + y) >> 1),
} as const

/** One tile of each kind, stacked. */
export async function paintPictures({ x, y, width, height }: Rectangle): Promise<Painted[]> {
  const painted = Object.values(pictures).map((picture, index) =>
    paintTile({ x, y: y + index * height, width, height }, picture),
  )
  return Promise.all(painted)
}

/** The largest difference between two channel values. */
export function difference(a: Buffer, b: Buffer): number {
  if (a.length !== b.length) return Infinity
  return a.reduce((most, value, index) => Math.max(most, Math.abs(value - b[index]!)), 0)
}
