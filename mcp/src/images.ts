import sharp from 'sharp'
import type { Content } from './tool.ts'

export type Size = { readonly width: number; readonly height: number }
export type Point = { readonly x: number; readonly y: number }

/*
 * Vendors shrink what is larger than their models look at, and coordinates are off from then on. So a
 * picture is shrunk here, where they can be mapped back.
 */
const maxWidth = 1280
const maxPixels = 1_150_000
/** A larger PNG, such as that of a photograph, goes as JPEG. */
const maxPngBytes = 500_000
/** Bounds what a small file can unfold to. */
const maxDecodedPixels = 50_000_000

/** How large a display, or a picture, is shown. */
export function shownSize({ width, height }: Size): Size {
  const scale = Math.min(1, maxWidth / width, Math.sqrt(maxPixels / (width * height)))
  return {
    width: Math.max(1, Math.floor(width * scale)),
    height: Math.max(1, Math.floor(height * scale)),
  }
}

/** The pixel of the display under the middle of a pixel of its picture. */
export function toDisplay(point: Point, shown: Size, display: Size): Point {
  return {
    x: Math.floor(((point.x + 0.5) * display.width) / shown.width),
    y: Math.floor(((point.y + 0.5) * display.height) / shown.height),
  }
}

/** A picture that a model can look at, and its size then. */
export async function showPicture(
  bytes: Uint8Array,
): Promise<{ readonly content: Content; readonly shown: Size; readonly original: Size }> {
  const picture = sharp(bytes, { limitInputPixels: maxDecodedPixels }).autoOrient()
  const { autoOrient: original, format } = await picture.metadata()
  const shown = shownSize(original)
  if (format === 'png' && shown.width === original.width && bytes.length <= maxPngBytes)
    return { content: imageContent(bytes, 'image/png'), shown, original }
  picture.resize({ ...shown, fit: 'fill' })
  const png = await picture.clone().png().toBuffer()
  if (png.length <= maxPngBytes) return { content: imageContent(png, 'image/png'), shown, original }
  // Without subsampling small coloured text stays legible.
  const jpeg = await picture.jpeg({ quality: 85, chromaSubsampling: '4:4:4' }).toBuffer()
  return { content: imageContent(jpeg, 'image/jpeg'), shown, original }
}

function imageContent(bytes: Uint8Array, mimeType: string): Content {
  const { buffer, byteOffset, byteLength } = bytes
  const data = Buffer.from(buffer, byteOffset, byteLength).toString('base64')
  return { type: 'image', data, mimeType }
}
