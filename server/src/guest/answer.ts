import { GuestError, type ErrorCode } from '@computer/contract'
import { z } from 'zod'
import { readBody } from './body.ts'
import type { GuestAnswer } from './channel.ts'
import { GuestRefusal, GuestUnavailable } from './errors.ts'

/**
 * Root in a machine can replace the agent, so answers are untrusted: one that does not match the
 * contract counts as no answer.
 */

const maxRefusalBytes = 64 * 1024
const maxMessageLength = 1000
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

const ScreenshotHeaders = z.object({
  'x-display-width': z.coerce.number().int().min(1).max(65_535),
  'x-display-height': z.coerce.number().int().min(1).max(65_535),
})
const FileHeaders = z.object({
  'x-file-size': z.coerce.number().int().min(0),
  'x-file-path': z.string().min(1).refine(isUriEncoded),
})

/** Throws GuestRefusal unless the answer is a success. */
export async function acceptAnswer(answer: GuestAnswer): Promise<void> {
  if (answer.status >= 200 && answer.status < 300) return
  const { error } = parseAnswer(GuestError, await readBody(answer, maxRefusalBytes))
  if (!refusalCodes.includes(error.code)) throw nonsense()
  throw new GuestRefusal({ ...error, message: error.message.slice(0, maxMessageLength) })
}

export function parseAnswer<S extends z.ZodType>(schema: S, body: Buffer): z.output<S> {
  let value: unknown
  try {
    value = body.length === 0 ? {} : JSON.parse(body.toString())
  } catch (cause) {
    throw nonsense(cause)
  }
  const result = schema.safeParse(value)
  if (!result.success) throw nonsense(result.error)
  return result.data
}

export function parseScreenshotHeaders(answer: GuestAnswer): { width: number; height: number } {
  const headers = parseHeaders(ScreenshotHeaders, answer)
  return { width: headers['x-display-width'], height: headers['x-display-height'] }
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
