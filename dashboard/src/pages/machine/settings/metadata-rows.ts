export type MetadataRow = {
  /** Keeps the fields of a row apart from those of others while its key is typed. */
  readonly id: string
  readonly key: string
  readonly value: string
}

export function rowsOf(metadata: Readonly<Record<string, string>>): MetadataRow[] {
  return Object.entries(metadata).map(([key, value]) => ({ id: key, key, value }))
}

let added = 0

export function emptyRow(): MetadataRow {
  // No key of the server contains a NUL.
  return { id: `\0${++added}`, key: '', value: '' }
}

/** Rows without a key and a value count as removed. */
export function toMetadata(rows: readonly MetadataRow[]): Record<string, string> {
  const kept = rows.filter(({ key, value }) => key !== '' || value !== '')
  return Object.fromEntries(kept.map(({ key, value }) => [key, value]))
}

/** Why a row cannot be saved, or undefined. */
export function faultOf(row: MetadataRow, rows: readonly MetadataRow[]): string | undefined {
  if (row.key === '') return row.value === '' ? undefined : 'It needs a key.'
  const isTwice = rows.some(({ id, key }) => id !== row.id && key === row.key)
  return isTwice ? 'This key is there twice.' : undefined
}
