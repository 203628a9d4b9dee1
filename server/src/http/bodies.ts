import { largeBodyLimit, showBodyLimit } from '@computer/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { PassThrough, type Readable } from 'node:stream'
import type { App } from '../app.ts'
import { ApiError } from '../errors.ts'
import { hasTooManyValues } from '../json-values.ts'

/*
 * How request bodies arrive. Routes admit their callers before (api/route.ts), so that nothing of a
 * stranger's body is kept. A JSON body has the size limit of its route and a time limit. An upload has
 * no limits but one on silence. After a response that did not wait for the whole body, the rest is
 * discarded for a while, so that a client that still sends can read the response.
 */

/** More values than any valid body has: each one may become an error to report. */
const maxValues = 10_000
const firstBufferBytes = 16 * 1024

export function addBodyParsers(http: FastifyInstance, { timing }: Pick<App, 'timing'>): void {
  const { bodyMs, uploadSilenceMs } = timing
  const parseJson = http.getDefaultJsonParser('error', 'error')
  http.removeAllContentTypeParsers()
  http.addContentTypeParser(
    'application/json',
    async (request: FastifyRequest, payload: Readable) => {
      const { bodyLimit } = request.routeOptions
      const announced = Number(request.headers['content-length'] ?? 0)
      if (announced > bodyLimit) throw tooLarge(bodyLimit)
      const bytes = await readBytes(payload, { maxBytes: bodyLimit, timeoutMs: bodyMs })
      if (bytes.length === 0) return undefined
      if (hasTooManyValues(bytes, maxValues)) throw tooManyValues()
      return new Promise<unknown>((resolve, reject) => {
        const done = (error: Error | null, value?: unknown) =>
          error ? reject(error) : resolve(value)
        void parseJson(request, bytes.toString(), done)
      })
    },
  )
  http.addContentTypeParser(
    'application/octet-stream',
    async (_request: FastifyRequest, payload: Readable) => limitSilence(payload, uploadSilenceMs),
  )

  http.addHook('onResponse', async ({ raw }) => {
    // Undefined for injected requests of tests.
    if (raw.complete !== false) return
    const { socket } = raw
    raw.unpipe()
    raw.resume()
    const timer = setTimeout(() => {
      if (!raw.complete) socket.destroy()
    }, bodyMs)
    // Not the socket's, which lives through many requests.
    raw.once('close', () => clearTimeout(timer))
  })
}

/** Reads into one buffer, because many small chunks take far more memory than their bytes. */
function readBytes(
  payload: Readable,
  { maxBytes, timeoutMs }: { readonly maxBytes: number; readonly timeoutMs: number },
): Promise<Buffer> {
  let bytes = Buffer.allocUnsafe(Math.min(firstBufferBytes, maxBytes))
  let size = 0
  const append = (chunk: Buffer) => {
    if (size + chunk.length > bytes.length) {
      const larger = Buffer.allocUnsafe(Math.min(maxBytes, 2 * (size + chunk.length)))
      bytes.copy(larger, 0, 0, size)
      bytes = larger
    }
    chunk.copy(bytes, size)
    size += chunk.length
  }
  return new Promise((resolve, reject) => {
    const settle = (end: () => void) => {
      clearTimeout(timer)
      payload.removeAllListeners('data')
      end()
    }
    const timer = setTimeout(() => {
      settle(() => reject(late(timeoutMs)))
    }, timeoutMs)
    payload.on('data', (chunk: Buffer) => {
      if (size + chunk.length > maxBytes) settle(() => reject(tooLarge(maxBytes)))
      else append(chunk)
    })
    payload.once('end', () => settle(() => resolve(bytes.subarray(0, size))))
    payload.once('error', (error) => settle(() => reject(brokenOff(error))))
    payload.once('close', () => settle(() => reject(brokenOff())))
    if (payload.destroyed) settle(() => reject(brokenOff()))
  })
}

/** The upload, which fails if its reader waits too long for the next byte. */
function limitSilence(payload: Readable, silenceMs: number): Readable {
  const upload = new PassThrough()
  // A handler that refuses the call does not read it.
  upload.on('error', () => {})
  const timer = setTimeout(() => {
    // The client cannot send while the reader is slow.
    if (upload.writableNeedDrain) timer.refresh()
    else upload.destroy(silent(silenceMs))
  }, silenceMs)
  payload.on('data', () => timer.refresh())
  payload.once('end', () => clearTimeout(timer))
  payload.once('error', (error) => upload.destroy(error))
  payload.once('close', () => {
    clearTimeout(timer)
    if (!payload.readableEnded) upload.destroy(brokenOff())
  })
  return payload.pipe(upload)
}

function tooManyValues(): ApiError {
  return refused(`the body has more than ${maxValues} values; split the call`)
}

function tooLarge(maxBytes: number): ApiError {
  const advice = maxBytes < largeBodyLimit ? '' : '; send large files as bytes'
  return refused(`the body is larger than ${showBodyLimit(maxBytes)}${advice}`)
}

function late(timeoutMs: number): ApiError {
  return refused(`the body did not arrive within ${timeoutMs / 1000} s; send it again`)
}

function silent(silenceMs: number): ApiError {
  return refused(`the upload stopped: nothing arrived for ${silenceMs / 1000} s; send it again`)
}

function brokenOff(cause?: unknown): ApiError {
  return new ApiError('invalid_request', 'the client disconnected during the body', { cause })
}

function refused(message: string): ApiError {
  return new ApiError('invalid_request', message)
}
