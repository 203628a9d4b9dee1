import { pipeline, Transform, type Readable } from 'node:stream'

/**
 * The stream, limited to the length that content-length promises. If a machine sends more (the file
 * grew, or the machine is malicious), the excess must not reach the client, which would parse it as the
 * next response. If it sends less, the stream fails and the response is aborted.
 */
export function exactLength(source: Readable, length: number): Readable {
  let left = length
  const body = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const part = chunk.subarray(0, left)
      left -= part.length
      done(null, part)
    },
    flush(done) {
      done(left === 0 ? null : new Error('the machine sent less of the file than it announced'))
    },
  })
  // Failures surface on the body itself.
  pipeline(source, body, () => {})
  return body
}
