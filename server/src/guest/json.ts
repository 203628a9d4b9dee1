import { hasTooManyValues } from '../json-values.ts'

/** Parses JSON from an agent. Throws if it has more values than `maxValues`. */
export function parseJson(bytes: Buffer, maxValues: number): unknown {
  if (hasTooManyValues(bytes, maxValues)) throw new Error(`JSON with more than ${maxValues} values`)
  return JSON.parse(bytes.toString())
}
