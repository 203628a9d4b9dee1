/* Billing periods are calendar months in UTC, and every boundary is a whole hour. */

const hourMs = 3_600_000

export function startOfHour(time: Date): Date {
  return new Date(Math.floor(time.getTime() / hourMs) * hourMs)
}

/** The first moment of the next hour. */
export function endOfHour(time: Date): Date {
  return new Date(startOfHour(time).getTime() + hourMs)
}

/** The first moment of the month. */
export function startOfMonth(time: Date): Date {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth(), 1))
}

/** The first moment of the next month. */
export function endOfMonth(time: Date): Date {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + 1, 1))
}

/** From one moment to another, which are whole seconds. */
export function secondsBetween(start: Date, end: Date): bigint {
  return BigInt((end.getTime() - start.getTime()) / 1000)
}
