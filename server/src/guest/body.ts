import { Transform, type Readable } from 'node:stream'
import type { GuestAnswer } from './channel.ts'
import { GuestUnavailable } from './errors.ts'

/** Shorter bodies need no reservation: the requests in flight bound them. */
const shortBytes = 64 * 1024

/** Uses the whole body in memory. It fails beyond `maxBytes`: the agent is not trusted. */
export async function useBody<T>(
  answer: GuestAnswer,
  maxBytes: number,
  use: (body: Buffer) => T | Promise<T>,
): Promise<T> {
  const bytes = promisedBytes(answer) ?? maxBytes
  if (bytes > maxBytes) throw tooLong(maxBytes)
  if (bytes <= shortBytes) return use(await readBody(answer, bytes))
  const giveBack = await answer.memory.take(bytes)
  try {
    return await use(await readBody(answer, bytes))
  } finally {
    giveBack()
  }
}

/** Copies the body together, because its chunks may be single bytes. */
async function readBody(answer: GuestAnswer, maxBytes: number): Promise<Buffer> {
  const { stream } = answer
  const body = Buffer.allocUnsafe(maxBytes)
  let size = 0
  await new Promise<void>((resolve, reject) => {
    // A short answer may have ended before its body was asked for.
    if (stream.readableEnded) return resolve()
    if (stream.destroyed) return reject(unavailable(stream.errored))
    stream.on('data', (chunk: Buffer) => {
      if (size + chunk.length > maxBytes) return stream.destroy(tooLong(maxBytes))
      size += chunk.copy(body, size)
    })
    stream.once('end', resolve)
    stream.once('close', () => {
      if (!stream.readableEnded) reject(unavailable(stream.errored))
    })
  })
  if (!isWhole(answer, size)) throw brokenOff()
  return body.subarray(0, size)
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

/** The agent may reset a stream after its whole answer, if it wants nothing more of the request. */
function isWhole(answer: GuestAnswer, size: number): boolean {
  const promised = promisedBytes(answer)
  return promised === undefined ? !answer.stream.aborted : promised === size
}

function promisedBytes({ headers }: GuestAnswer): number | undefined {
  const promised = headers['content-length']
  if (promised === undefined) return undefined
  if (/^\d{1,15}$/.test(promised)) return Number(promised)
  throw brokenOff()
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
