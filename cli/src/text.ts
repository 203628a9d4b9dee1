/** Makes untrusted text safe to print: one line, without control or direction characters. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- matched in order to remove them.
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, ' ')
}

/** Width in terminal columns: two for wide characters, none for combining marks. */
export function widthOf(text: string): number {
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += wide.test(segment) ? 2 : 1
  return width
}

const graphemes = new Intl.Segmenter()
const wide =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]/u

/** Formats bytes in decimal units, such as 1.5 GB. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let unit = 0
  let value = bytes
  for (; value >= 999.5 && unit < units.length - 1; unit++) value /= 1000
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

/** Formats the time since then in its largest whole unit. */
export function formatAge(time: string | null, now = Date.now()): string {
  if (time === null) return 'never'
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1000))
  const units = [
    ['day', 86_400],
    ['hour', 3600],
    ['minute', 60],
  ] as const
  const [name, length] = units.find(([, size]) => seconds >= size) ?? (['second', 1] as const)
  const count = Math.floor(seconds / length)
  return `${count} ${name}${count === 1 ? '' : 's'} ago`
}
