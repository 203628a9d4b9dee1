/*
 * Simple quotas charge a machine with what it wrote for as long as anybody keeps it, and with nothing
 * that its disk began with. What a size means is another thing: what the disk holds now beyond its
 * image is at most its size. So
 *
 *     limit = size + charged - held
 *
 * which is above the size where captures keep what the machine has deleted, and below it where the
 * disk was made from a capture. Finding out what is held takes a walk over all that was written, so a
 * disk is looked at only where it may matter.
 */

/** What is seen of a disk without a walk. */
export type DiskState = {
  readonly sizeBytes: number
  readonly chargedBytes: number
  readonly limitBytes: number
  /** Which captures of it there are. */
  readonly captures: string
  /** Some of them are being removed, and the room they took is not all free yet. */
  readonly isThinning: boolean
  /** It was made from a capture. */
  readonly inherits: boolean
  /** How many transactions its file system has seen. */
  readonly transaction: number
}

/** With that much left, whatever changes may matter. */
const nearBytes = 2 ** 30
const nearShare = 1 / 16
/** By so much of its size a limit may be off: blocks of the tree of files are only estimated. */
const tolerance = 1 / 128
/** A limit of nothing would be none. */
export const leastLimitBytes = 2 ** 20

/** Whether to look at a disk again that looked as it did `then`. */
export function mayMatter(then: DiskState, now: DiskState): boolean {
  if (isAtRest(now)) return false
  if (now.captures !== then.captures || now.isThinning !== then.isThinning) return true
  if (then.chargedBytes - now.chargedBytes > now.sizeBytes * tolerance) return true
  const isSame = now.chargedBytes === then.chargedBytes && now.transaction === then.transaction
  return !isSame && isNear(now)
}

/** Whether to look at a disk that was not looked at yet. A copy's limit was set when it was made. */
export function mattersAtFirst(now: DiskState): boolean {
  if (isAtRest(now)) return false
  const isSet = now.inherits && now.captures === '' && now.limitBytes < now.sizeBytes
  return !isSet || isNear(now)
}

/** The limit of a disk that holds so much beyond its image. */
export function limitFor(now: DiskState, heldBytes: number): number {
  const retainedBytes = now.chargedBytes - heldBytes
  const slackBytes = now.sizeBytes * tolerance
  if (isPlain(now) && retainedBytes < slackBytes) return now.sizeBytes
  const exact = now.sizeBytes + retainedBytes
  const limit = Math.abs(exact - now.limitBytes) < slackBytes ? now.limitBytes : exact
  return Math.max(leastLimitBytes, now.isThinning ? Math.min(limit, now.limitBytes) : limit)
}

/**
 * The limit from before a capture is removed until its room is free. That happens at some moment, and
 * what is charged then falls at once: the machine must not find that room.
 */
export function narrowedLimit(now: DiskState, freedBytes: number): number {
  const sure = now.inherits ? leastLimitBytes : now.sizeBytes
  return Math.min(now.limitBytes, Math.max(sure, now.limitBytes - freedBytes))
}

/** Nothing but its machine has any part in it. */
function isPlain({ captures, inherits }: DiskState): boolean {
  return captures === '' && !inherits
}

/** Its size is its limit, and no look would find another. */
export function isAtRest(now: DiskState): boolean {
  return isPlain(now) && now.limitBytes === now.sizeBytes
}

function isNear({ sizeBytes, chargedBytes, limitBytes }: DiskState): boolean {
  return limitBytes - chargedBytes < Math.max(nearBytes, sizeBytes * nearShare)
}
