/**
 * Whether JSON from somebody who is not trusted has more values than `maxValues`: in memory and time, a
 * value costs a hundred times what its bytes cost. Counts what begins a value, outside of strings.
 */
export function hasTooManyValues(bytes: Buffer, maxValues: number): boolean {
  if (bytes.length <= maxValues) return false
  let count = 0
  let isInString = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (isInString) {
      if (byte === backslash) at += 1
      else if (byte === quote) isInString = false
    } else if (byte === quote) isInString = true
    else if (byte === comma || byte === bracket || byte === brace) count += 1
  }
  return count > maxValues
}

const quote = '"'.charCodeAt(0)
const backslash = '\\'.charCodeAt(0)
const comma = ','.charCodeAt(0)
const bracket = '['.charCodeAt(0)
const brace = '{'.charCodeAt(0)

/** The same text for values that differ only in the order of their keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  )
}
