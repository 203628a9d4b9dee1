import { Transform, type Readable } from 'node:stream'
import type { GuestAnswer } from './channel.ts'
import { GuestUnavailable } from './errors.ts'

/** Reads the whole body into memory, up to a limit: the agent is not trusted. */
export async function readBody(answer: GuestAnswer, maxBytes: number): Promise<Buffer> {
  const { stream } = answer
  const chunks: Buffer[] = []
  let size = 0
  await new Promise<void>((resolve, reject) => {
    // A short answer may have ended before its body was asked for.
    if (stream.readableEnded) return resolve()
    if (stream.destroyed) return reject(unavailable(stream.errored))
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size > maxBytes) stream.destroy(tooLong(maxBytes))
    })
    stream.once('end', resolve)
    stream.once('close', () => {
      if (!stream.readableEnded) reject(unavailable(stream.errored))
    })
  })
  if (!isWhole(answer, size)) throw brokenOff()
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)
}

/** The body as a stream. Unlike the bare stream it fails if the answer was cut short. */
export function streamBody(answer: GuestAnswer): Readable {
  const { stream } = answer
  let size = 0
  const body = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length
      done(null, chunk)
    },
    flush(done) {
      done(isWhole(answer, size) ? null : brokenOff())
    },
    destroy(error, done) {
      stream.destroy()
      done(error)
    },
  })
  const onClose = () => {
    if (!stream.readableEnded) body.destroy(unavailable(stream.errored))
  }
  if (stream.destroyed) onClose()
  else stream.once('close', onClose)
  return stream.pipe(body)
}

function isWhole({ headers, stream }: GuestAnswer, size: number): boolean {
  const promised = headers['content-length']
  if (stream.aborted) return false
  return promised === undefined || Number(promised) === size
}

function unavailable(error: Error | null): Error {
  return error instanceof GuestUnavailable ? error : brokenOff(error)
}

function brokenOff(cause?: unknown): GuestUnavailable {
  return new GuestUnavailable("the machine's answer broke off", { sent: true, cause })
}

function tooLong(maxBytes: number): GuestUnavailable {
  return new GuestUnavailable(`the machine's answer is longer than ${maxBytes} bytes`, {
    sent: true,
  })
}
