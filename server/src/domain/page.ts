import { invalid, type ApiError } from '../errors.ts'

export type PageRequest = { readonly limit: number; readonly cursor?: string | undefined }
export type Page<Row> = {
  readonly data: readonly Row[]
  readonly next_cursor: string | null
  readonly has_more: boolean
}

/** A page of rows ordered by id, newest first: ids are time-ordered, so the id is the position. */
export async function pageById<Row extends { readonly id: string }>(
  page: PageRequest,
  fetch: (before: string | null, count: number) => Promise<Row[]>,
): Promise<Page<Row>> {
  const before =
    page.cursor === undefined ? null : decode(page.cursor, /^[a-z]{3}_[0-9a-z]{20,32}$/)
  return cut(page, await fetch(before, page.limit + 1), (row) => row.id)
}

/** The same for the events of one machine, ordered by their sequence. */
export async function pageByNumber<Row extends { readonly sequence: number }>(
  page: PageRequest,
  fetch: (before: number | null, count: number) => Promise<Row[]>,
): Promise<Page<Row>> {
  const before = page.cursor === undefined ? null : Number(decode(page.cursor, /^\d{1,9}$/))
  return cut(page, await fetch(before, page.limit + 1), (row) => String(row.sequence))
}

/** The same for rows whose position has another shape, in the order that `fetch` reads them. */
export async function pageByKey<Row>(
  page: PageRequest,
  shape: RegExp,
  positionOf: (row: Row) => string,
  fetch: (after: string | null, count: number) => Promise<Row[]>,
): Promise<Page<Row>> {
  const after = page.cursor === undefined ? null : decode(page.cursor, shape)
  return cut(page, await fetch(after, page.limit + 1), positionOf)
}

function cut<Row>(page: PageRequest, rows: Row[], position: (row: Row) => string): Page<Row> {
  const data = rows.slice(0, page.limit)
  const last = data.at(-1)
  const hasMore = rows.length > page.limit
  return {
    data,
    next_cursor: hasMore && last ? encodeCursor(position(last)) : null,
    has_more: hasMore,
  }
}

export function encodeCursor(position: string): string {
  return Buffer.from(position).toString('base64url')
}

/** The position inside a cursor, which must look like one of ours. */
export function decode(cursor: string, shape: RegExp): string {
  const position = Buffer.from(cursor, 'base64url').toString('utf8')
  if (shape.test(position)) return position
  throw invalidCursor()
}

export function invalidCursor(): ApiError {
  return invalid('the cursor is not one of this list; start again without it', [
    { field: 'cursor', message: 'must be a next_cursor of this list' },
  ])
}
