import { sql, type RawBuilder, type SelectQueryBuilder } from 'kysely'
import { invalid, type ApiError } from '../errors.ts'

export type PageRequest = { readonly limit: number; readonly cursor?: string | undefined }
export type Page<Row> = {
  readonly data: readonly Row[]
  readonly next_cursor: string | null
  readonly has_more: boolean
}

/**
 * A page of the rows that a query selects, newest first: ids are time-ordered, so the id is the
 * position. Its prefix tells the cursors of a list from those of other lists. `idColumn` is the column of
 * the id where the query joins tables, or of another id that gives the order.
 */
export async function newestFirst<Row extends { readonly id: string }>(
  prefix: string,
  page: PageRequest,
  // oxlint-disable-next-line typescript/no-explicit-any
  query: SelectQueryBuilder<any, any, Row>,
  idColumn: string | RawBuilder<string> = 'id',
  idOf: (row: Row) => string = (row) => row.id,
): Promise<Page<Row>> {
  const id = typeof idColumn === 'string' ? sql.ref<string>(idColumn) : idColumn
  return pageByKey(page, shapeOfIds(prefix), idOf, (before, count) =>
    query
      .$if(before !== null, (all) => all.where(id, '<', before!))
      .orderBy(id, 'desc')
      .limit(count)
      .execute(),
  )
}

/** A page of rows in the order in which `fetch` reads them, after a position of the given shape. */
export async function pageByKey<Row>(
  page: PageRequest,
  shape: RegExp,
  positionOf: (row: Row) => string,
  fetch: (after: string | null, count: number) => Promise<Row[]>,
): Promise<Page<Row>> {
  const after = page.cursor === undefined ? null : decodeCursor(page.cursor, shape)
  return cut(page, await fetch(after, page.limit + 1), positionOf)
}

/** A page of items that are in memory, newest first. */
export function pageOfItems<Item extends { readonly id: string }>(
  prefix: string,
  page: PageRequest,
  items: readonly Item[],
): Promise<Page<Item>> {
  const newest = items.toSorted((a, b) => (a.id < b.id ? 1 : -1))
  return pageByKey(
    page,
    shapeOfIds(prefix),
    (item) => item.id,
    async (before, count) =>
      newest.filter(({ id }) => before === null || id < before).slice(0, count),
  )
}

/** A page of rows that are in memory, in the order of their positions, which are whole numbers. */
export function pageInMemory<Row>(
  page: PageRequest,
  rows: readonly Row[],
  positionOf: (row: Row) => number,
): Promise<Page<Row>> {
  const read = async (after: string | null, count: number) =>
    rows.filter((row) => after === null || positionOf(row) > Number(after)).slice(0, count)
  return pageByKey(page, /^\d{1,9}$/, (row) => String(positionOf(row)), read)
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

function shapeOfIds(prefix: string): RegExp {
  return new RegExp(`^${prefix}_[0-9a-z]{20,32}$`)
}

/** The position inside a cursor, which must have the shape of this list's. */
export function decodeCursor(cursor: string, shape: RegExp): string {
  const position = Buffer.from(cursor, 'base64url').toString('utf8')
  if (shape.test(position)) return position
  throw invalidCursor()
}

export function invalidCursor(): ApiError {
  return invalid('the cursor is not one of this list; start again without it', [
    { field: 'cursor', message: 'must be a next_cursor of this list' },
  ])
}
