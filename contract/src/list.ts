import { z } from 'zod'

/** Query of every list: keyset pages, newest first (wire, Conventions). */
export const PageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(100).default(25),
  cursor: z.string().min(1).max(512).optional().describe('The next_cursor of the previous page.'),
})

export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    data: z.array(item),
    next_cursor: z.string().nullable(),
    has_more: z.boolean(),
  })
}
