import { z } from 'zod'

/** Text that Postgres and any UTF-8 consumer accept: no NUL, no lone surrogate. */
export function text(max: number, min = 0) {
  return z
    .string()
    .min(min)
    .max(max)
    .refine((value) => value.isWellFormed() && !value.includes('\0'), {
      message: 'must be valid Unicode without NUL characters',
    })
}

export const Timestamp = z.iso.datetime({ offset: true }).meta({ format: 'date-time' })

/** The absent body of a 204 response. */
export const NoContent = z.undefined()
