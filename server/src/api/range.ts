import { ApiError, invalid } from '../errors.ts'

/** Parses a `range` header with one range, `bytes=FIRST-LAST` or `bytes=FIRST-`. Null without header. */
export function parseRange(
  header: string | undefined,
): { readonly offset: number; readonly length?: number } | null {
  if (header === undefined) return null
  const match = /^bytes=(\d{1,15})-(\d{0,15})$/.exec(header.trim())
  const first = Number(match?.[1])
  const last = match?.[2] === '' ? null : Number(match?.[2])
  if (!match || (last !== null && last < first)) {
    throw invalid('range must be bytes=FIRST-LAST or bytes=FIRST-', [
      { field: 'range', message: 'must be one range, bytes=FIRST-LAST or bytes=FIRST-' },
    ])
  }
  return last === null ? { offset: first } : { offset: first, length: last - first + 1 }
}

/** The error for a range that begins past the end of the file. */
export function unsatisfiable(size: number): ApiError {
  const message = `the range begins past the end of the file, which has ${size} bytes`
  return new ApiError('invalid_request', message, {
    details: [{ field: 'range', message: `must begin before byte ${size}` }],
    fileSize: size,
  })
}
