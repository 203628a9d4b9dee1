import { printable, widthOf } from './text.ts'

export type OutputOptions = { readonly json?: true | undefined }

/** Titles and cell texts of a table's columns, or of a record's lines. */
export type Columns<T> = Readonly<Record<string, (item: T) => string | number | null>>

/** Prints a list: a table for people, an array with --json. */
export function showList<T>(
  items: readonly T[],
  columns: Columns<T>,
  { json, emptyMessage }: OutputOptions & { readonly emptyMessage: string },
): void {
  if (json) return writeJson(items)
  if (items.length === 0) console.error(emptyMessage)
  else process.stdout.write(formatTable(items, columns))
}

/** Prints one record: its lines for people, an object with --json. */
export function showRecord<T>(record: T, columns: Columns<T>, { json }: OutputOptions): void {
  if (json) return writeJson(record)
  const rows = Object.entries(columns).map(([title, read]) => ({ title, value: read(record) }))
  const width = Math.max(...rows.map(({ title }) => title.length))
  const lines = rows.map(({ title, value }) => `${title.padEnd(width)}  ${cell(value)}\n`)
  process.stdout.write(lines.join(''))
}

/** Reports a completed action: a sentence for people, the record with --json. */
export function showDone(sentence: string, record: unknown, { json }: OutputOptions): void {
  if (json) writeJson(record)
  else console.log(printable(sentence))
}

/** Writes one line of JSON with the field names of the API. */
export function writeJson(value: unknown): void {
  console.log(JSON.stringify(toWire(value)))
}

export function formatTable<T>(items: readonly T[], columns: Columns<T>): string {
  const titles = Object.keys(columns).map((title) => title.toUpperCase())
  const rows = items.map((item) => Object.values(columns).map((read) => cell(read(item))))
  const widths = titles.map((title, column) =>
    Math.max(...[title, ...rows.map((row) => row[column]!)].map(widthOf)),
  )
  const line = (row: readonly string[]) =>
    row.map((text, column) => text + ' '.repeat(widths[column]! - widthOf(text))).join('   ')
  return [titles, ...rows].map((row) => `${line(row).trimEnd()}\n`).join('')
}

function cell(value: string | number | null): string {
  return value === null || value === '' ? '-' : printable(String(value))
}

/** Maps whose keys the caller chose: they are not renamed. */
const opaqueKeys = new Set(['metadata', 'env', 'labels'])

/** Renames keys from the SDK's camelCase to the API's snake_case. */
export function toWire(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toWire)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      opaqueKeys.has(key) ? inner : toWire(inner),
    ]),
  )
}
