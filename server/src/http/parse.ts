import type { FieldError } from '@computer/contract'
import type { z } from 'zod'
import { ApiError } from '../errors.ts'

/** Throws `invalid_request` naming each invalid field. `part` names the part of the request. */
export function parse<T>(schema: z.ZodType<T>, value: unknown, part: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const details = result.error.issues.flatMap(describeIssue)
  const first = details[0]!
  const where = first.field === '' ? part : `${part}: ${first.field}`
  throw new ApiError('invalid_request', `${where}: ${first.message}`, { details })
}

/** Fields are dotted paths. Each unknown field is a separate entry. */
function describeIssue(issue: z.core.$ZodIssue): FieldError[] {
  const path = issue.path.map(String)
  if (issue.code !== 'unrecognized_keys') {
    return [{ field: path.join('.'), message: issue.message }]
  }
  return issue.keys.map((key) => ({
    field: [...path, key].join('.'),
    message: 'unknown field',
  }))
}
