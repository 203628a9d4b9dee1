/** JSON for a jsonb column. Postgres stores no NUL and no half of a surrogate pair, both of which callers can send. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, storable)
}

function storable(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\u{fffd}') : value
}
