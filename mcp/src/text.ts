/** Shortens a long text by cutting its middle, which usually matters least. */
export function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const head = Math.floor(maxLength / 4)
  const tail = maxLength - head
  const omitted = text.length - maxLength
  return `${text.slice(0, head)}\n[… ${omitted} characters omitted here …]\n${text.slice(-tail)}`
}

export function formatBytes(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  let size = bytes
  let unit = 0
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000
    unit++
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`
}
