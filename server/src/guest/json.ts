/** Far more values than any answer has, apart from lists. */
const usualMaxValues = 10_000

/**
 * Parses JSON from an agent, which is not trusted. Throws if it has more values than `maxValues`: in
 * memory and time, a value costs a hundred times what its bytes cost.
 */
export function parseJson(bytes: Buffer, maxValues = usualMaxValues): unknown {
  if (bytes.length > maxValues) requireFewValues(bytes, maxValues)
  return JSON.parse(bytes.toString())
}

/** Counts what begins a value, outside of strings. */
function requireFewValues(bytes: Buffer, maxValues: number): void {
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
  if (count > maxValues) throw new Error(`JSON with ${count} values`)
}

const quote = '"'.charCodeAt(0)
const backslash = '\\'.charCodeAt(0)
const comma = ','.charCodeAt(0)
const bracket = '['.charCodeAt(0)
const brace = '{'.charCodeAt(0)
