import type { Timing } from '../src/timing.ts'

const retry = { firstMs: 10, factor: 1.5, maxMs: 50 }

/** The timing of servers under test, with short delays. */
export const testTiming: Timing = {
  claimMs: 500,
  renewClaimsMs: 100,
  pollMs: 100,
  wakeEveryMs: 5,
  bootPollMs: 10,
  rebootTimeoutMs: 500,
  desktopPollMs: 10,
  desktopTimeoutMs: 500,
  flushTimeoutMs: 500,
  enginePollMs: 20,
  imagePollMs: 200,
  hostSeenMs: 50,
  relocationPollMs: 50,
  relocationRetryMs: 500,
  hostSilenceMs: 10_000,
  hostGoneMs: 10_000,
  hostPollMs: 50,
  hostPatienceMs: 200,
  sweepMs: 250,
  tickMs: 100,
  ghostMs: 500,
  bodyMs: 30_000,
  uploadSilenceMs: 60_000,
  responseSilenceMs: 120_000,
  wakeTimeoutMs: 1_000,
  warmPollMs: 100,
  warmRestMs: 0,
  warmFreshMs: 60_000,
  webhookAnswerMs: 15_000,
  stepRetry: retry,
  captureRetry: retry,
  removalRetry: retry,
  deliveryRetry: retry,
  mailRetry: retry,
  paymentRetry: retry,
  warmRetry: retry,
}

/** For servers without other hosts: with the above, a fifth of all statements would look at hosts. */
export const timingOfOneHost = { hostSeenMs: 500, hostPollMs: 500, relocationPollMs: 500 }
