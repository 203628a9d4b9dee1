import type { Rectangle } from '../x11/requests.ts'
import type { Frame } from './frame.ts'

/** What one look at the pixels of a tile tells about how to encode it. */
export type Palette = {
  /** Undefined when there are more than 256. */
  readonly colours: readonly number[] | undefined
  /** For each pixel its colour's place. Shared by all calls: good until the next. */
  readonly indices: Uint8Array
  /** Pixels that are as the one to their left. */
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
    let place = 0
    for (let i = start; i < start + area.width; i++) {
      const colour = frame.pixels[i]! & 0xffffff
      if (colour === previous) {
        repeats++
      } else {
        previous = colour
        if (!tooMany) {
          place = placeOf(colour, colours)
          tooMany = place < 0
        }
      }
      indices[at++] = place
    }
  }
  return { colours: tooMany ? undefined : colours, indices, repeats }
}

let sharedIndices = new Uint8Array(0)

/** An open hash table: the place of a colour plus one, by its hash. */
const slots = new Uint16Array(1024)

/** Negative when the palette is full. */
function placeOf(colour: number, colours: number[]): number {
  let slot = Math.imul(colour, 0x9e3779b1) >>> 22
  for (;;) {
    const place = slots[slot]! - 1
    if (place < 0) break
    if (colours[place] === colour) return place
    slot = (slot + 1) & 1023
  }
  if (colours.length === 256) return -1
  slots[slot] = colours.push(colour)
  return colours.length - 1
}
