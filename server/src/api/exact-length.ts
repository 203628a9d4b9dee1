import { PassThrough, pipeline, Transform, type Readable } from 'node:stream'
import { asApiError } from '../domain/guests/calls.ts'
import { GuestUnavailable } from '../guest/errors.ts'

/**
 * The stream, limited to the length that content-length promises. If a machine sends more (the file
 * grew, or the machine is malicious), the excess must not reach the client, which would parse it as the
 * next response. If it sends less, the stream fails: with the API's error for it before the first byte,
 * and afterwards by ending the response early.
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
      done(left === 0 ? null : tooShort())
    },
    destroy(error, done) {
      done(asApiError(error) as Error | null)
    },
  })
  // Failures surface on the body itself.
  pipeline(source, body, () => {})
  return body
}

/**
 * The stream, of any length. If it fails before the first byte, the response is the API's error for that;
 * afterwards the response ends early, which HTTP tells from a whole one.
 */
export function failAsApi(source: Readable): Readable {
  const body = new PassThrough({
    destroy(error, done) {
      done(asApiError(error) as Error | null)
    },
  })
  pipeline(source, body, () => {})
  return body
}

function tooShort(): GuestUnavailable {
  const message = 'the machine sent less than it announced'
  return new GuestUnavailable(message, { sent: true })
}
