import { largeBodyLimit, showBodyLimit, uploadTypes } from '@computer/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import type { App } from '../app.ts'
import { ApiError } from '../errors.ts'
import { hasTooManyValues } from '../json-values.ts'
import { OrganizationMemory } from './organization-memory.ts'

/*
 * How request bodies arrive. Routes admit their callers before (api/route.ts), so that nothing of a
 * stranger's body is kept. A JSON body has the size limit of its route and a time limit. An upload has
 * no limits but one on silence. After a response that did not wait for the whole body, the rest is
 * discarded for a while, so that a client that still sends can read the response.
 */

/** More values than any valid body has: each one may become an error to report. */
const maxValues = 10_000
const firstBufferBytes = 16 * 1024
/** What the bodies of one organization's callers may take, from their first byte until the response. */
const maxBytesOfOrganization = 64 * 1024 * 1024

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before the body is read. */
    response?: ServerResponse
  }
}

export function addBodyParsers(http: FastifyInstance, { timing }: Pick<App, 'timing'>): void {
  const { bodyMs, uploadSilenceMs } = timing
  const parseJson = http.getDefaultJsonParser('error', 'error')
  const memory = new OrganizationMemory(maxBytesOfOrganization)
  http.decorateRequest('response')
  http.addHook('onRequest', (request, reply, done) => {
    request.response = reply.raw
    done()
  })
  http.removeAllContentTypeParsers()
  http.addContentTypeParser(
    'application/json',
    async (request: FastifyRequest, payload: Readable) => {
      const { bodyLimit } = request.routeOptions
      const announced = Number(request.headers['content-length'] ?? 0)
      if (announced > bodyLimit) throw tooLarge(bodyLimit)
      const bytes = await readBytes(payload, {
        maxBytes: bodyLimit,
        timeoutMs: bodyMs,
        take: (size) => memory.take(request, size, request.response!),
      })
      if (bytes.length === 0) return undefined
      if (hasTooManyValues(bytes, maxValues)) throw tooManyValues()
      return new Promise<unknown>((resolve, reject) => {
        const done = (error: Error | null, value?: unknown) =>
          error ? reject(error) : resolve(value)
        void parseJson(request, bytes.toString(), done)
      })
    },
  )
  http.addContentTypeParser([...uploadTypes], async (_request: FastifyRequest, payload: Readable) =>
    limitSilence(payload, uploadSilenceMs),
  )

  http.addHook('onResponse', ({ raw }, _reply, done) => {
    discardRest(raw, bodyMs)
    done()
  })
}

function discardRest(request: IncomingMessage, timeoutMs: number): void {
  const { socket, complete } = request
  // Bytes that have arrived may still be buffered, for a reader that will never take them.
  request.unpipe()
  request.resume()
  // Injected requests of tests have no such property.
  if (complete !== false) return
  const timer = setTimeout(() => {
    if (!request.complete) socket.destroy()
  }, timeoutMs)
  // Not the socket's, which lives through many requests.
  request.once('close', () => clearTimeout(timer))
}

type Reading = {
  readonly maxBytes: number
  readonly timeoutMs: number
  /** Asked for memory beyond the first buffer; false if there is none. */
  readonly take: (bytes: number) => boolean
}

/** Reads into one buffer, because many small chunks take far more memory than their bytes. */
export function readBytes(
  payload: Readable,
  { maxBytes, timeoutMs, take }: Reading,
): Promise<Buffer> {
  let bytes = Buffer.allocUnsafe(Math.min(firstBufferBytes, maxBytes))
  let size = 0
  const append = (chunk: Buffer) => {
    if (size + chunk.length > bytes.length) {
      const length = Math.min(maxBytes, 2 * (size + chunk.length))
      if (!take(length - bytes.length)) throw tooMany()
      const larger = Buffer.allocUnsafe(length)
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
      try {
        if (size + chunk.length > maxBytes) throw tooLarge(maxBytes)
        append(chunk)
      } catch (error) {
        settle(() => reject(error))
      }
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
  // After an early response, the payload may never close: the rest of it is discarded.
  upload.once('unpipe', () => clearTimeout(timer))
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

function tooMany(): ApiError {
  const limit = showBodyLimit(maxBytesOfOrganization)
  return new ApiError(
    'rate_limited',
    `the bodies that callers of this organization send at once are larger than ${limit}; send them one after the other`,
    { retryAfter: 1 },
  )
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
