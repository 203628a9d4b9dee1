import type { ApiError } from './errors.ts'

/** A failed attempt, with everything that decides whether and when to retry. */
export type Attempt = {
  readonly error: ApiError
  /** From the response's Retry-After header, in seconds. */
  readonly retryAfter: number | undefined
  /** Number of earlier attempts. */
  readonly number: number
  readonly elapsedMs: number
  /** The request is idempotent. */
  readonly isRepeatable: boolean
  readonly maxRetries: number
  readonly unavailableTimeoutMs: number
}

/** Above this, report the error instead of waiting. */
const maxRetryAfterSeconds = 60
/** Covers the longest call, for a retry while the first request is still in progress. */
const inProgressTimeoutMs = 150_000

/** The delay before the next attempt, or null to give up. */
export function retryDelayMs(attempt: Attempt): number | null {
  const { error, retryAfter, number, elapsedMs } = attempt
  if (retryAfter !== undefined && retryAfter > maxRetryAfterSeconds) return null
  const pause = retryAfter === undefined ? backoffMs(number) : jitter(retryAfter * 1000)
  switch (error.status) {
    case 0:
    case 502:
    case 504:
      return attempt.isRepeatable && number < attempt.maxRetries ? backoffMs(number) : null
    case 429:
      return number < attempt.maxRetries ? pause : null
    case 503:
      // Without Retry-After the request may have had an effect.
      if (retryAfter === undefined && !attempt.isRepeatable) return null
      return elapsedMs + pause < attempt.unavailableTimeoutMs ? pause : null
    case 409:
      if (retryAfter === undefined || !attempt.isRepeatable) return null
      return elapsedMs + pause < inProgressTimeoutMs ? pause : null
    default:
      return null
  }
}

/** Exponential backoff from 250 ms to 5 s, with jitter. */
export function backoffMs(number: number): number {
  return jitter(Math.min(250 * 2 ** number, 5000) / 1.5)
}

/** Spreads simultaneous retries. Only ever adds to the delay. */
function jitter(ms: number): number {
  return ms * (1 + Math.random() / 2)
}

/** Resolves after a delay; rejects with the signal's reason if it aborts first. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  const { promise, resolve, reject } = deferred()
  const timer = setTimeout(resolve, ms)
  const abort = () => reject(signal!.reason as Error)
  signal?.addEventListener('abort', abort)
  try {
    await promise
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

/** Promise.withResolvers, which Node 20 lacks. */
export function deferred<T = void>() {
  let resolve!: (value: T | PromiseLike<T>) => void
  let reject!: (reason: Error) => void
  const promise = new Promise<T>((fulfil, fail) => {
    resolve = fulfil
    reject = fail
  })
  return { promise, resolve, reject }
}

/** Settles like the promise, or rejects with the signal's reason if it aborts first. */
export async function abortable<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return promise
  signal.throwIfAborted()
  const { promise: aborted, reject } = deferred<never>()
  const abort = () => reject(signal.reason as Error)
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
