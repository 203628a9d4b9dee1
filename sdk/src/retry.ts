import type { ApiError } from './errors.ts'

/** What decides whether a call that failed may be sent again, and when. */
export type Attempt = {
  readonly error: ApiError
  /** From the answer's retry-after, in seconds. */
  readonly retryAfter: number | undefined
  /** How many went before. */
  readonly number: number
  readonly elapsedMs: number
  /** Sending it twice does it once. */
  readonly isRepeatable: boolean
  readonly maxRetries: number
  readonly unavailableTimeoutMs: number
}

/** A server that asks for more patience than this has its error shown instead. */
const longestRetryAfterSeconds = 60
/** An idempotent call that is under way elsewhere: as long as the longest of them. */
const underWayTimeoutMs = 150_000

/** The pause before the next try, or null if there is none. */
export function retryDelayMs(attempt: Attempt): number | null {
  const { error, retryAfter, number, elapsedMs } = attempt
  if (retryAfter !== undefined && retryAfter > longestRetryAfterSeconds) return null
  const pause = retryAfter === undefined ? backoffMs(number) : jitter(retryAfter * 1000)
  switch (error.status) {
    case 0:
    case 502:
    case 504:
      return attempt.isRepeatable && number < attempt.maxRetries ? backoffMs(number) : null
    case 429:
      return number < attempt.maxRetries ? pause : null
    case 503:
      // Without retry-after nobody promises that nothing was done yet.
      if (retryAfter === undefined && !attempt.isRepeatable) return null
      return elapsedMs + pause < attempt.unavailableTimeoutMs ? pause : null
    case 409:
      if (retryAfter === undefined || !attempt.isRepeatable) return null
      return elapsedMs + pause < underWayTimeoutMs ? pause : null
    default:
      return null
  }
}

/** Doubles from a quarter of a second to five. */
export function backoffMs(number: number): number {
  return jitter(Math.min(250 * 2 ** number, 5000) / 1.5)
}

/** Many that failed together do not come back together. Never earlier than asked. */
function jitter(ms: number): number {
  return ms * (1 + Math.random() / 2)
}

/** Resolves after a while; rejects with the signal's reason when it aborts. */
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

/** The promise's outcome, or the signal's reason if that comes first. The promise goes on. */
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
