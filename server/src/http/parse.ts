import type { FieldError } from '@computer/contract'
import { z } from 'zod'
import { ApiError } from '../errors.ts'

/** An error names this many fields at most; names of fields come from the caller. */
const maxDetails = 20
const maxFieldLength = 200
const maxMessageLength = 500

/** Throws `invalid_request` naming the invalid fields. `part` names the part of the request. */
export function parse<T>(schema: z.ZodType<T>, value: unknown, part: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const all = result.error.issues.flatMap(describeIssue)
  const details = all.slice(0, maxDetails)
  const first = details[0]!
  const where = first.field === '' ? part : `${part}: ${first.field}`
  const more = all.length - details.length
  const rest = more > 0 ? ` (${more} more errors than details lists)` : ''
  throw new ApiError('invalid_request', `${where}: ${first.message}${rest}`, { details })
}

/**
 * Leaves out optional fields that are null, which means that they are not given (wire, Additions). A field that has
 * null among its values keeps it.
 */
export function withoutNulls(schema: z.ZodType, value: unknown): unknown {
  const inner = unwrap(schema)
  if (!(inner instanceof z.ZodObject) || !isRecord(value)) return value
  const shape = inner.shape as Readonly<Record<string, z.ZodType>>
  const given = Object.entries(value).flatMap(([key, one]) => {
    const field = Object.hasOwn(shape, key) ? shape[key]! : undefined
    if (field === undefined) return [[key, one]]
    const isNotGiven = one === null && field.isOptional() && !field.isNullable()
    return isNotGiven ? [] : [[key, withoutNulls(field, one)]]
  })
  return Object.fromEntries(given)
}

function unwrap(schema: z.ZodType): z.ZodType {
  const isWrapped = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault
  return isWrapped ? unwrap(schema.unwrap() as z.ZodType) : schema
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Fields are dotted paths. Each unknown field is a separate entry. */
function describeIssue(issue: z.core.$ZodIssue): FieldError[] {
  const path = issue.path.map(String)
  if (issue.code !== 'unrecognized_keys') return [fieldError(path, issue.message)]
  return issue.keys.map((key) => fieldError([...path, key], 'unknown field'))
}

function fieldError(path: readonly string[], message: string): FieldError {
  return {
    field: shorten(path.join('.'), maxFieldLength),
    message: shorten(message, maxMessageLength),
  }
}

function shorten(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`
}
