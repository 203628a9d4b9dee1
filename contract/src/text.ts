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

/**
 * An array from an agent, which is not trusted: it is refused at its first fault. An ordinary array
 * reports every fault, which costs a thousand times what the answer itself costs.
 */
export function untrustedArray<Item extends z.ZodType>(item: Item, max: number) {
  return z
    .array(z.unknown())
    .max(max)
    .transform((values, context): z.output<Item>[] => {
      const items: z.output<Item>[] = []
      for (const [index, value] of values.entries()) {
        const result = item.safeParse(value)
        if (!result.success) {
          context.addIssue({ code: 'custom', message: `item ${index} is invalid` })
          return z.NEVER
        }
        items.push(result.data)
      }
      return items
    })
}

export const Timestamp = z.iso.datetime({ offset: true }).meta({ format: 'date-time' })

/** The absent body of a 204 response. */
export const NoContent = z.undefined()
