import sharp from 'sharp'

/*
 * The probe's window shows blocks whose colours are computed from the number of the frame, here and in
 * guest/probe.py alike. A screenshot with all the right colours shows exactly that frame.
 */
const left = 320
const top = 160
const block = 40
const columns = 16
const blocks = columns * 12

/** Describes what is wrong with a screenshot that should show this frame; undefined if it is right. */
export async function checkFrame(
  image: Buffer,
  frame: number,
  tolerance: number,
): Promise<string | undefined> {
  const { data, info } = await sharp(image)
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true })
  if (info.width !== 1280 || info.height !== 800)
    return `the screenshot is ${info.width}x${info.height}`
  for (let index = 0; index < blocks; index++) {
    const x = left + (index % columns) * block + block / 2
    const y = top + Math.floor(index / columns) * block + block / 2
    const at = (y * info.width + x) * 3
    const seen = [data[at]!, data[at + 1]!, data[at + 2]!]
    const wanted = colourOf(frame, index)
    const error = Math.max(...seen.map((value, channel) => Math.abs(value - wanted[channel]!)))
    if (error > tolerance) return `frame ${frame}: block ${index} is ${seen} instead of ${wanted}`
  }
  return undefined
}

/** As `checkFrame`, for a picture without encoder noise. */
export function checkPixels(
  picture: { pixel(x: number, y: number): number },
  frame: number,
): string | undefined {
  for (let index = 0; index < blocks; index++) {
    const x = left + (index % columns) * block + block / 2
    const y = top + Math.floor(index / columns) * block + block / 2
    const seen = picture.pixel(x, y)
    if (seen !== pixelOf(frame, index)) return `block ${index} is ${seen}`
  }
  return undefined
}

/** Counts the pixels that differ by more than encoder noise; infinite for pictures of different sizes. */
export async function countChanged(one: Buffer, other: Buffer, area?: Area): Promise<number> {
  const [a, b] = await Promise.all([decode(one, area), decode(other, area)])
  if (a.length !== b.length) return Infinity
  let changed = 0
  for (let at = 0; at < a.length; at += 3) {
    const [red, green, blue] = [a[at]! - b[at]!, a[at + 1]! - b[at + 1]!, a[at + 2]! - b[at + 2]!]
    if (Math.abs(red) + Math.abs(green) + Math.abs(blue) > 24) changed++
  }
  return changed
}

export type Area = { left: number; top: number; width: number; height: number }

function decode(image: Buffer, area: Area | undefined): Promise<Buffer> {
  const picture = area ? sharp(image).extract(area) : sharp(image)
  return picture.removeAlpha().raw().toBuffer()
}

/** The colour of a block in a frame, or the probe's response to a press at a point. */
export function pixelOf(frame: number, index: number): number {
  const mixed = Math.imul(frame, 73856093) ^ Math.imul(index, 19349663)
  return Math.imul(mixed, 83492791) >>> 8
}

function colourOf(frame: number, index: number): readonly [number, number, number] {
  const colour = pixelOf(frame, index)
  return [colour >>> 16, (colour >>> 8) & 0xff, colour & 0xff]
}
