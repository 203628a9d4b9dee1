import type { Rectangle } from '../x11/requests.ts'
import type { Frame } from './frame.ts'

/** The result of one pass over a tile's pixels, which decides how to encode it. */
export type Palette = {
  /** Undefined if there are more than 256. */
  readonly colours: readonly number[] | undefined
  /** The index of each pixel's colour. The array is shared: valid until the next call. */
  readonly indices: Uint8Array
  /** The number of pixels equal to their left neighbour. */
  readonly repeats: number
}

export function readPalette(frame: Frame, area: Rectangle): Palette {
  const pixels = area.width * area.height
  if (sharedIndices.length < pixels) sharedIndices = new Uint8Array(pixels)
  const indices = sharedIndices
  slots.fill(0)
  const colours: number[] = []
  let tooMany = false
  let repeats = 0
  let at = 0
  for (let row = 0; row < area.height; row++) {
    const start = (area.y + row) * frame.width + area.x
    let previous = -1
    let index = 0
    for (let i = start; i < start + area.width; i++) {
      const colour = frame.pixels[i]! & 0xffffff
      if (colour === previous) {
        repeats++
      } else {
        previous = colour
        if (!tooMany) {
          index = indexOf(colour, colours)
          tooMany = index < 0
        }
      }
      indices[at++] = index
    }
  }
  return { colours: tooMany ? undefined : colours, indices, repeats }
}

let sharedIndices = new Uint8Array(0)

/** An open hash table from colours to their index plus one. */
const slots = new Uint16Array(1024)

/** Negative if the palette is full. */
function indexOf(colour: number, colours: number[]): number {
  let slot = Math.imul(colour, 0x9e3779b1) >>> 22
  for (;;) {
    const index = slots[slot]! - 1
    if (index < 0) break
    if (colours[index] === colour) return index
    slot = (slot + 1) & 1023
  }
  if (colours.length === 256) return -1
  slots[slot] = colours.push(colour)
  return colours.length - 1
}
