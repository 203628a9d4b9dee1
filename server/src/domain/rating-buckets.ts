const hourSeconds = 3_600
const daySeconds = 24 * hourSeconds
const weekMs = 7 * daySeconds * 1_000

/** The width of the buckets of a series: an hour up to a week, a day beyond. */
export function bucketSecondsOf({
  start,
  end,
}: {
  readonly start: Date
  readonly end: Date
}): number {
  return end.getTime() - start.getTime() <= weekMs ? hourSeconds : daySeconds
}

/** The start of the bucket that contains a time. Buckets are aligned to hours or days in UTC. */
export function bucketOf(time: Date, bucketSeconds: number): Date {
  const widthMs = bucketSeconds * 1_000
  return new Date(Math.floor(time.getTime() / widthMs) * widthMs)
}
