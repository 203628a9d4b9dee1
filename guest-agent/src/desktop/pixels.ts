/**
 * Converts the server's pixels (blue, green, red, unused) to red, green, blue: four pixels at a
 * time, which are four words to read and three to write.
 */
export function swapToRgb(source: Buffer, sourceOffset: number, target: Buffer): void {
  const pixels = target.length / 3
  const from = new Uint32Array(source.buffer, source.byteOffset + sourceOffset, pixels)
  const to = new Uint32Array(target.buffer, target.byteOffset, Math.floor(target.length / 4))
  const blocks = Math.floor(pixels / 4)
  for (let block = 0, i = 0, o = 0; block < blocks; block++, i += 4, o += 3) {
    const a = from[i]!
    const b = from[i + 1]!
    const c = from[i + 2]!
    const d = from[i + 3]!
    to[o] = ((a >>> 16) & 0xff) | (a & 0xff00) | ((a & 0xff) << 16) | ((b & 0xff0000) << 8)
    to[o + 1] = ((b >>> 8) & 0xff) | ((b & 0xff) << 8) | (c & 0xff0000) | ((c & 0xff00) << 16)
    to[o + 2] = (c & 0xff) | ((d & 0xff0000) >>> 8) | ((d & 0xff00) << 8) | ((d & 0xff) << 24)
  }
  for (let pixel = blocks * 4; pixel < pixels; pixel++) {
    const value = from[pixel]!
    target[pixel * 3] = value >>> 16
    target[pixel * 3 + 1] = value >>> 8
    target[pixel * 3 + 2] = value
  }
}
