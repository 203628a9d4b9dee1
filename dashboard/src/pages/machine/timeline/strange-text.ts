const maxLength = 200

/** A value that a caller sent, as text for one row. */
export function shortText(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'unknown')
  if (text.length <= maxLength) return text
  // A character of two halves is not cut between them.
  return `${text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '')}…`
}

/** A number that a caller sent; 0 for anything else. */
export function countIn(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}
