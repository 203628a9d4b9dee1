import { pipeline, Transform, type Readable } from 'node:stream'

/**
 * The stream, cut to the length that content-length promises. A machine that sends more (its file
 * grew, or it means harm) would otherwise write into what the caller takes for its next answer. One
 * that sends less breaks the answer off.
 */
export function cutTo(source: Readable, length: number): Readable {
  let left = length
  const body = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const piece = chunk.subarray(0, left)
      left -= piece.length
      done(null, piece)
    },
    flush(done) {
      done(left === 0 ? null : new Error('the machine sent less of a file than it has'))
    },
  })
  // The caller sees every failure on the body itself.
  pipeline(source, body, () => {})
  return body
}
