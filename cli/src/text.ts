/** What others wrote, on one line and without anything that would drive the terminal. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what has to go.
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, ' ')
}

/** How many columns of a terminal it takes: wide characters two, marks none. */
export function widthOf(text: string): number {
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += wide.test(segment) ? 2 : 1
  return width
}

const graphemes = new Intl.Segmenter()
const wide =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]/u

/** 1.5 GB, as disks and networks are measured. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let unit = 0
  let value = bytes
  for (; value >= 999.5 && unit < units.length - 1; unit++) value /= 1000
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

/** How long ago, to one unit. */
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
