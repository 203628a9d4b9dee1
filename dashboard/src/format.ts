/* All numbers and times that people read. */

const locale = 'en'
const dateTime = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
const moment = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' })
const timeOfDay = new Intl.DateTimeFormat(locale, { timeStyle: 'medium' })
const day = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' })
const dayOfPeriod = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' })
const shortDay = new Intl.DateTimeFormat(locale, {
  month: 'short',
  day: 'numeric',
  timeZone: 'UTC',
})
const dayAndHour = new Intl.DateTimeFormat(locale, {
  month: 'short',
  day: 'numeric',
  hour: 'numeric',
})
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
const plain = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 })

export function formatDateTime(iso: string): string {
  return dateTime.format(new Date(iso))
}

/** To the second, for the entries of a log. */
export function formatMoment(iso: string): string {
  return moment.format(new Date(iso))
}

export function formatTimeOfDay(ms: number): string {
  return timeOfDay.format(ms)
}

export function formatDay(iso: string): string {
  return day.format(new Date(iso))
}

/** Of usage and billing, whose days are those of UTC. */
export function formatPeriodDay(iso: string): string {
  return dayOfPeriod.format(new Date(iso))
}

/** Of usage and billing, without the year. */
export function formatShortDay(iso: string): string {
  return shortDay.format(new Date(iso))
}

export function formatHour(iso: string): string {
  return dayAndHour.format(new Date(iso))
}

/** Such as "3 minutes ago" or "in 7 days". */
export function formatRelative(iso: string, now = Date.now()): string {
  const seconds = (Date.parse(iso) - now) / 1000
  const size = Math.abs(seconds)
  if (size < 45) return seconds > 0 ? 'in a moment' : 'just now'
  if (size < 45 * 60) return relative.format(Math.round(seconds / 60), 'minute')
  if (size < 22 * 3600) return relative.format(Math.round(seconds / 3600), 'hour')
  return relative.format(Math.round(seconds / 86_400), 'day')
}

/** Such as "42 s", "12 min", "3 h 20 min" or "4 d 2 h". */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`
  const days = Math.floor(hours / 24)
  return hours % 24 ? `${days} d ${hours % 24} h` : `${days} d`
}

/** In binary units, as the server counts them: "1.5 GB" is 1.5 × 1024³ bytes. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024
  return `${unit === 0 ? value : plain.format(value)} ${units[unit]}`
}

export function formatMemory(mb: number): string {
  return mb % 1024 === 0 || mb > 1024 ? `${plain.format(mb / 1024)} GB` : `${mb} MB`
}

export function formatNumber(value: number): string {
  return plain.format(value)
}

/** An amount of money in its smallest unit. */
export function formatMoney(cents: number, currency: string): string {
  return new Intl.NumberFormat(locale, { style: 'currency', currency }).format(cents / 100)
}

/** A price of little, such as "$0.0125", from cents that may be a fraction. */
export function formatRate(cents: number, currency: string): string {
  const style = { style: 'currency', currency, maximumFractionDigits: 4 } as const
  return new Intl.NumberFormat(locale, style).format(cents / 100)
}

export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${plain.format(count)} ${count === 1 ? one : many}`
}
