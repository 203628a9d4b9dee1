import { GuestError, ScreenshotId, type ErrorCode } from '@computer/contract'
import { z } from 'zod'
import { useBody } from './body.ts'
import type { GuestAnswer } from './channel.ts'
import { GuestRefusal, GuestUnavailable } from './errors.ts'
import { parseBody } from './long-answers.ts'
import { nameOfLongAnswer, parseApart } from './parse-apart.ts'

/**
 * Root in a machine can replace the agent, so answers are untrusted: one that does not match the
 * contract counts as no answer.
 */

const maxRefusalBytes = 64 * 1024
const maxMessageLength = 1000
/** Parsing so much takes a few milliseconds. */
const maxInlineBytes = 512 * 1024
/** The error codes that the agent may return. All others are reserved to the server. */
const refusalCodes: readonly ErrorCode[] = [
  'invalid_request',
  'permission_denied',
  'not_found',
  'conflict',
  'precondition_failed',
  'unsupported_operation',
  'compute_unavailable',
  'internal_error',
]

const pixels = z.coerce.number().int().min(1).max(16_384)
const ScreenshotHeaders = z.object({
  'x-display-width': pixels,
  'x-display-height': pixels,
  // An agent of an earlier version takes the whole display, in its size, and gives it no id.
  'x-image-width': pixels.optional(),
  'x-image-height': pixels.optional(),
  'x-screenshot-id': ScreenshotId.optional(),
  'x-settled': z.enum(['true', 'false']).optional(),
  'x-changing': z
    .string()
    .regex(/^\d{1,5}(,\d{1,5}){3}$/)
    .optional(),
  // An 8K screen of noise has 130 MB.
  'content-length': z.coerce
    .number()
    .int()
    .min(1)
    .max(256 * 1024 * 1024),
})
const FileHeaders = z.object({
  'x-file-size': z.coerce.number().int().min(0),
  'x-file-path': z.string().min(1).refine(isUriEncoded),
})

/** Throws GuestRefusal unless the answer is a success. */
export async function acceptAnswer(answer: GuestAnswer): Promise<void> {
  if (answer.status >= 200 && answer.status < 300) return
  const { error } = await useBody(answer, maxRefusalBytes, (body) => parseAnswer(GuestError, body))
  if (!refusalCodes.includes(error.code)) throw nonsense()
  throw new GuestRefusal({
    ...error,
    message: error.message.slice(0, maxMessageLength).toWellFormed(),
  })
}

/** Long answers are parsed apart, so that they hold nothing else up. */
export async function parseAnswer<S extends z.ZodType>(
  schema: S,
  body: Buffer,
): Promise<z.output<S>> {
  const longAnswer = nameOfLongAnswer(schema)
  try {
    if (longAnswer === undefined || body.length <= maxInlineBytes) return parseBody(schema, body)
    return (await parseApart(longAnswer, body)) as z.output<S>
  } catch (cause) {
    throw nonsense(cause)
  }
}

export function parseScreenshotHeaders(answer: GuestAnswer) {
  const headers = parseHeaders(ScreenshotHeaders, answer)
  const settled = headers['x-settled']
  const display = { width: headers['x-display-width'], height: headers['x-display-height'] }
  const [x, y, width, height] = headers['x-changing']?.split(',').map(Number) ?? []
  return {
    id: headers['x-screenshot-id'] ?? null,
    width: headers['x-image-width'] ?? display.width,
    height: headers['x-image-height'] ?? display.height,
    display,
    settled: settled === undefined ? null : settled === 'true',
    changing: x === undefined ? null : { x, y: y!, width: width!, height: height! },
    size: headers['content-length'],
  }
}

export function parseFileHeaders(answer: GuestAnswer): { path: string; size: number } {
  const headers = parseHeaders(FileHeaders, answer)
  const path = decodeURIComponent(headers['x-file-path'])
  return { path, size: headers['x-file-size'] }
}

function parseHeaders<S extends z.ZodType>(schema: S, answer: GuestAnswer): z.output<S> {
  const result = schema.safeParse(answer.headers)
  if (result.success) return result.data
  answer.stream.destroy()
  throw nonsense(result.error)
}

function nonsense(cause?: unknown): GuestUnavailable {
  return new GuestUnavailable("the machine's agent gave an answer that makes no sense", {
    sent: true,
    cause,
  })
}

function isUriEncoded(text: string): boolean {
  try {
    return decodeURIComponent(text).length > 0
  } catch {
    return false
  }
}
