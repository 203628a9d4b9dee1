import type { Page } from '../domain/page.ts'

type WireValue<Value> = Value extends Date ? string : Value
type WireRow<Row> = { readonly [Column in keyof Row]: WireValue<Row[Column]> }

/** A row with its timestamps as ISO 8601 in UTC. The contract's schema drops internal columns later. */
export function rowToWire<Row extends object>(row: Row): WireRow<Row> {
  const entries = Object.entries(row).map(([column, value]) => [
    column,
    value instanceof Date ? value.toISOString() : value,
  ])
  return Object.fromEntries(entries) as WireRow<Row>
}

export function pageToWire<Row, Wire>(page: Page<Row>, toWire: (row: Row) => Wire) {
  return { ...page, data: page.data.map((row) => toWire(row)) }
}
