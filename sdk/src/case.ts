/*
 * The wire speaks snake_case, the SDK camelCase: every key of what is sent and answered is renamed,
 * here and nowhere else. What the caller put under these names is the caller's and stays as it is.
 */
const kept = new Set(['metadata', 'env'])

export function toCamel(value: unknown): unknown {
  return renamed(value, (key) =>
    key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
  )
}

export function toSnake(value: unknown): unknown {
  return renamed(value, snake)
}

export function snake(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function renamed(value: unknown, rename: (key: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      rename(key),
      kept.has(key) ? inner : renamed(inner, rename),
    ]),
  )
}
