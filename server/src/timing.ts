/** How long the server waits between polls and tries. Tests run it with shorter times. */
export type Timing = {
  /** A claim expires this long after it was taken or renewed. */
  readonly claimMs: number
  readonly renewClaimsMs: number
  /** Workers poll for rows that are due this often, in case a notification was lost. */
  readonly pollMs: number
  /** Notifications wake a worker at most this often: there may be thousands a second. */
  readonly wakeEveryMs: number
  /** The agent of a machine that boots is asked this often whether it answers. */
  readonly bootPollMs: number
  /** The engine gets this long to start a machine whose guest has rebooted. */
  readonly rebootTimeoutMs: number
  readonly desktopPollMs: number
  readonly desktopTimeoutMs: number
  /** A guest gets this long to write out its caches before its disk is copied as it is. */
  readonly flushTimeoutMs: number
  /** A step is tried again this often while the engine is down or lacks the machine's image. */
  readonly enginePollMs: number
  /** The engine is checked this often for the default image. */
  readonly imagePollMs: number
  /** The worker of a host gives a sign of life this often. */
  readonly hostSeenMs: number
  /** A host whose worker is silent for this long is unhealthy. */
  readonly hostSilenceMs: number
  /** What ran on a host whose worker is silent for this long is in error until the host is back. */
  readonly hostGoneMs: number
  /** A host looks this often whether its machines can go on to another one. */
  readonly relocationPollMs: number
  /** A relocation that failed is begun again after this long. */
  readonly relocationRetryMs: number
  /** The engine is checked this often, and its host is unhealthy once it failed for this long. */
  readonly hostPollMs: number
  readonly hostPatienceMs: number
  /** Expired leases and sockets of dead gateways are swept this often. */
  readonly sweepMs: number
  /** Clients of screens and events get a sign of life this often. */
  readonly tickMs: number
  /** Viewers of a screen see for this long where an agent acted. */
  readonly ghostMs: number
  /** A JSON body arrives within this time, and so does the rest of a body that is not read. */
  readonly bodyMs: number
  /** An upload fails after this long without a byte. */
  readonly uploadSilenceMs: number
  /** A response ends after its reader took nothing for this long. */
  readonly responseSilenceMs: number
  /** A machine of the pool answers within this time, or is made anew. */
  readonly wakeTimeoutMs: number
  /** The pool of warm machines is compared with what it should be this often. */
  readonly warmPollMs: number
  /** After its desktop is up, a warm machine gets this long to do the rest of its start. */
  readonly warmRestMs: number
  /** A warm machine is thawed this often, so that its leases and timers do not go stale. */
  readonly warmFreshMs: number
  /** The receiver of a webhook's message answers within this time. */
  readonly webhookAnswerMs: number
  readonly stepRetry: Backoff
  readonly captureRetry: Backoff
  readonly removalRetry: Backoff
  readonly deliveryRetry: Backoff
  readonly mailRetry: Backoff
  readonly paymentRetry: Backoff
  readonly warmRetry: Backoff
}

export const timing: Timing = {
  claimMs: 5_000,
  renewClaimsMs: 1_000,
  pollMs: 1_000,
  wakeEveryMs: 50,
  bootPollMs: 50,
  rebootTimeoutMs: 15_000,
  desktopPollMs: 250,
  desktopTimeoutMs: 2_000,
  flushTimeoutMs: 5_000,
  enginePollMs: 1_000,
  imagePollMs: 5_000,
  hostSeenMs: 2_000,
  hostSilenceMs: 15_000,
  hostGoneMs: 25_000,
  hostPollMs: 5_000,
  relocationPollMs: 1_000,
  relocationRetryMs: 30_000,
  hostPatienceMs: 15_000,
  sweepMs: 2_000,
  tickMs: 5_000,
  ghostMs: 4_000,
  bodyMs: 30_000,
  uploadSilenceMs: 60_000,
  responseSilenceMs: 120_000,
  wakeTimeoutMs: 10_000,
  warmPollMs: 2_000,
  warmRestMs: 2_000,
  warmFreshMs: 10 * 60_000,
  webhookAnswerMs: 15_000,
  stepRetry: { firstMs: 500, factor: 2, maxMs: 30_000 },
  captureRetry: { firstMs: 2_000, factor: 4, maxMs: 30_000 },
  removalRetry: { firstMs: 500, factor: 2, maxMs: 30_000 },
  deliveryRetry: { firstMs: 500, factor: 2, maxMs: 30_000 },
  mailRetry: { firstMs: 30_000, factor: 2, maxMs: 3_600_000 },
  paymentRetry: { firstMs: 5_000, factor: 2, maxMs: 3_600_000 },
  warmRetry: { firstMs: 5_000, factor: 4, maxMs: 600_000 },
}

type Backoff = { readonly firstMs: number; readonly factor: number; readonly maxMs: number }

/** The delay before the next try, `failures` being how often it had failed before this time. */
export function backoffMs({ firstMs, factor, maxMs }: Backoff, failures: number): number {
  return Math.min(firstMs * factor ** failures, maxMs)
}
