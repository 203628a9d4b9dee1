import { z } from 'zod'

/** Text that Postgres and every UTF-8 consumer can hold: no NUL, no lone surrogate. */
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

/** The body of an answer 204: there is none. */
export const NoContent = z.undefined()
