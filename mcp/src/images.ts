import type { ImageContent } from '@modelcontextprotocol/server'
import sharp from 'sharp'

export type Size = { readonly width: number; readonly height: number }
export type Point = { readonly x: number; readonly y: number }

/*
 * Model vendors downscale larger images, which invalidates the model's coordinates. So we downscale
 * first, to be able to map coordinates back.
 */
const maxWidth = 1280
const maxPixels = 1_150_000
/** A larger PNG, such as a photograph, is sent as JPEG. */
const maxPngBytes = 500_000
/** Limits decompression bombs. */
const maxDecodedPixels = 50_000_000

/** The size at which an image of this size is shown to a model. */
export function scaledSize({ width, height }: Size): Size {
  const scale = Math.min(1, maxWidth / width, Math.sqrt(maxPixels / (width * height)))
  return {
    width: Math.max(1, Math.floor(width * scale)),
    height: Math.max(1, Math.floor(height * scale)),
  }
}

/** Maps the center of a pixel in the shown image to a pixel of the display. */
export function toDisplay(point: Point, shown: Size, display: Size): Point {
  return {
    x: Math.floor(((point.x + 0.5) * display.width) / shown.width),
    y: Math.floor(((point.y + 0.5) * display.height) / shown.height),
  }
}

/** Converts an image to one that a model can view, downscaled if necessary. */
export async function renderImage(
  bytes: Uint8Array,
): Promise<{ readonly content: ImageContent; readonly shown: Size; readonly original: Size }> {
  const image = sharp(bytes, { limitInputPixels: maxDecodedPixels }).autoOrient()
  const { autoOrient: original, format } = await image.metadata()
  const shown = scaledSize(original)
  if (format === 'png' && shown.width === original.width && bytes.length <= maxPngBytes)
    return { content: imageContent(bytes, 'image/png'), shown, original }
  image.resize({ ...shown, fit: 'fill' })
  const png = await image.clone().png().toBuffer()
  if (png.length <= maxPngBytes) return { content: imageContent(png, 'image/png'), shown, original }
  // No chroma subsampling, so that small colored text stays legible.
  const jpeg = await image.jpeg({ quality: 85, chromaSubsampling: '4:4:4' }).toBuffer()
  return { content: imageContent(jpeg, 'image/jpeg'), shown, original }
}

function imageContent(bytes: Uint8Array, mimeType: string): ImageContent {
  const { buffer, byteOffset, byteLength } = bytes
  const data = Buffer.from(buffer, byteOffset, byteLength).toString('base64')
  return { type: 'image', data, mimeType }
}
