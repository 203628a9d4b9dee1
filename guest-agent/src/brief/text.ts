/** Text that the server can store, of at most so many characters: well-formed and without NUL. */
export function cutText(text: string, maxLength: number): string {
  const clean = text.replaceAll('\0', '').toWellFormed()
  if (clean.length <= maxLength) return clean
  const cut = clean.slice(0, maxLength)
  // Half of a pair may be left at the end.
  return cut.isWellFormed() ? cut : cut.slice(0, -1)
}
