export type Preview =
  | { readonly kind: 'text'; readonly text: string; readonly isWhole: boolean }
  | { readonly kind: 'picture'; readonly blob: Blob }
  | { readonly kind: 'none'; readonly reason: string }

const maxTextBytes = 256 * 1024
const maxPictureBytes = 16 * 1024 * 1024

/** Reads as much of a file as is shown. Bytes tell what it is, because its name is anybody's choice. */
export async function readPreview(stream: ReadableStream<Uint8Array>): Promise<Preview> {
  const reader = stream.getReader()
  try {
    const start = await readAtMost(reader, maxTextBytes)
    const type = pictureType(start.bytes)
    if (type === null) return textOf(start)
    if (start.isWhole) return { kind: 'picture', blob: new Blob([start.bytes], { type }) }
    const rest = await readAtMost(reader, maxPictureBytes - start.bytes.length)
    if (!rest.isWhole)
      return { kind: 'none', reason: 'This picture is larger than 16 MB. Download it to see it.' }
    return { kind: 'picture', blob: new Blob([start.bytes, rest.bytes], { type }) }
  } finally {
    void reader.cancel().catch(() => {})
  }
}

type Start = { readonly bytes: Uint8Array<ArrayBuffer>; readonly isWhole: boolean }

async function readAtMost(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  maxBytes: number,
): Promise<Start> {
  const chunks: Uint8Array[] = []
  let length = 0
  let isWhole = false
  while (length <= maxBytes) {
    const { done, value } = await reader.read()
    if (done) {
      isWhole = true
      break
    }
    chunks.push(value)
    length += value.length
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return { bytes, isWhole }
}

function textOf({ bytes, isWhole }: Start): Preview {
  const isCut = bytes.length > maxTextBytes
  const shown = isCut ? bytes.subarray(0, maxTextBytes) : bytes
  const binary = 'This file is neither text nor a picture. Download it to open it.'
  if (shown.includes(0)) return { kind: 'none', reason: binary }
  try {
    // A character that the end cuts in two is left out.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(shown, { stream: true })
    return { kind: 'text', text, isWhole: isWhole && !isCut }
  } catch {
    return { kind: 'none', reason: binary }
  }
}

/** SVG is not among them: it is a document with scripts, and is shown as text. */
const signatures: readonly (readonly [type: string, at: number, start: string])[] = [
  ['image/png', 0, '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/gif', 0, 'GIF8'],
  ['image/webp', 8, 'WEBP'],
  ['image/avif', 4, 'ftypavif'],
  ['image/bmp', 0, 'BM'],
  ['image/x-icon', 0, '\0\0\x01\0'],
]

function pictureType(bytes: Uint8Array): string | null {
  const head = String.fromCharCode(...bytes.subarray(0, 16))
  const found = signatures.find(([, at, start]) => head.startsWith(start, at))
  if (!found) return null
  // Text may begin with these two letters; pictures hold bytes that no text has.
  return found[0] === 'image/bmp' && !head.includes('\0') ? null : found[0]
}
