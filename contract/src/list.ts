import { z } from 'zod'

/** Query of every list: newest first, keyset pages (wire, Conventions). */
export const PageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(100).default(25),
  cursor: z.string().min(1).max(512).optional().describe('next_cursor of the page before.'),
})

export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    data: z.array(item),
    next_cursor: z.string().nullable(),
    has_more: z.boolean(),
  })
}
