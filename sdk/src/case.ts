/*
 * The wire uses snake_case, the SDK camelCase. All keys of requests and responses are converted here.
 */

/** Maps whose keys the caller chose: they are never converted. */
export const opaqueKeys: ReadonlySet<string> = new Set(['metadata', 'env', 'labels'])

export function toCamel(value: unknown): unknown {
  return renameKeys(value, (key) =>
    key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
  )
}

export function toSnake(value: unknown): unknown {
  return renameKeys(value, snake)
}

export function snake(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function renameKeys(value: unknown, rename: (key: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renameKeys(item, rename))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      rename(key),
      opaqueKeys.has(key) ? inner : renameKeys(inner, rename),
    ]),
  )
}
