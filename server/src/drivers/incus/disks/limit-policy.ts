/*
 * Simple quotas charge a machine for what it wrote for as long as any disk keeps it, and not at all
 * for the data that its disk started with. A disk's size promises something else: its content beyond
 * the image is at most the size. So
 *
 *     limit = size + charged - content
 *
 * The limit is above the size where captures retain what the machine has deleted, and below it where
 * the disk was made from a capture. Measuring the content takes a scan of everything that was written,
 * so a disk is scanned only when the result may change its limit.
 */

/** Facts about a disk that need no scan. */
export type DiskState = {
  readonly sizeBytes: number
  readonly chargedBytes: number
  readonly limitBytes: number
  /** The ids of its captures. */
  readonly captures: string
  /** Captures of it are being removed, and not all of their space is free yet. */
  readonly isShrinking: boolean
  /** It was made from a capture. */
  readonly inherits: boolean
  /** The transaction counter of the file system. */
  readonly transaction: number
}

/** With less than this left below the limit, any change needs a scan. */
const nearBytes = 2 ** 30
const nearShare = 1 / 16
/** The error allowed in a limit, as a share of the size: tree blocks are only estimated. */
const tolerance = 1 / 128
/** A limit of 0 would mean no limit. */
export const leastLimitBytes = 2 ** 20

/** Whether a disk that was in the state `then` has to be scanned again. */
export function needsRescan(then: DiskState, now: DiskState): boolean {
  if (isExact(now)) return false
  if (now.captures !== then.captures || now.isShrinking !== then.isShrinking) return true
  if (then.chargedBytes - now.chargedBytes > now.sizeBytes * tolerance) return true
  const isSame = now.chargedBytes === then.chargedBytes && now.transaction === then.transaction
  return !isSame && isNear(now)
}

/** Whether to scan a disk that was never scanned. The limit of a copy was set when it was made. */
export function needsFirstScan(now: DiskState): boolean {
  if (isExact(now)) return false
  const isSet = now.inherits && now.captures === '' && now.limitBytes < now.sizeBytes
  return !isSet || isNear(now)
}

/** The limit of a disk with this much content beyond its image. */
export function limitFor(now: DiskState, contentBytes: number): number {
  const retainedBytes = now.chargedBytes - contentBytes
  const slackBytes = now.sizeBytes * tolerance
  if (isPlain(now) && retainedBytes < slackBytes) return now.sizeBytes
  const exact = now.sizeBytes + retainedBytes
  const limit = Math.abs(exact - now.limitBytes) < slackBytes ? now.limitBytes : exact
  return Math.max(leastLimitBytes, now.isShrinking ? Math.min(limit, now.limitBytes) : limit)
}

/**
 * The limit to hold from before a capture is removed until its space is free. At that moment the
 * usage drops at once, and the machine must not be able to use the freed space.
 */
export function loweredLimit(now: DiskState, freedBytes: number): number {
  const least = now.inherits ? leastLimitBytes : now.sizeBytes
  return Math.min(now.limitBytes, Math.max(least, now.limitBytes - freedBytes))
}

/** It shares its own data with no other disk. */
function isPlain({ captures, inherits }: DiskState): boolean {
  return captures === '' && !inherits
}

/** The limit is the size, and no scan would change that. */
export function isExact(now: DiskState): boolean {
  return isPlain(now) && now.limitBytes === now.sizeBytes
}

function isNear({ sizeBytes, chargedBytes, limitBytes }: DiskState): boolean {
  return limitBytes - chargedBytes < Math.max(nearBytes, sizeBytes * nearShare)
}
