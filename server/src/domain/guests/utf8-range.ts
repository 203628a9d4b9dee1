import { invalid } from '../../errors.ts'

/** The bytes without a character that the end of the range cuts; the next range begins with it. */
export function wholeCharacters(bytes: Buffer, size: number, offset: number): Buffer {
  if (offset + bytes.length >= size) return bytes
  const whole = bytes.subarray(0, bytes.length - cutBytes(bytes))
  if (whole.length > 0 || bytes.length === 0) return whole
  // A client that reads on from here would never get further.
  throw invalid('the range is shorter than its first character; ask for 4 bytes or more', [
    { field: 'length', message: 'must be 4 or more here, or encoding base64' },
  ])
}

export function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw invalid('these bytes are not UTF-8; read them with encoding=base64')
  }
}

/** The number of bytes at the end that begin an unfinished character. */
function cutBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if (byte < 0x80) return 0
    if (byte < 0xc0) continue
    const width = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
    return width > back ? back : 0
  }
  return 0
}
