import type { Client } from './client.ts'
import { ApiError } from './errors.ts'
import type { CallOptions, WaitOptions } from './options.ts'
import { deferred, pause } from './retry.ts'

const defaultTimeoutMs = 300_000

type Condition<T> = {
  /** The machine whose events trigger a check, if any. */
  readonly machineId: string | null
  /** Resolves to undefined while the condition does not hold. Throws if it never will. */
  readonly check: () => Promise<T | undefined>
}

/** Longer delays overflow the timer, which then fires at once. */
const maxTimerMs = 2 ** 31 - 1

/**
 * Runs work whose requests and waits have one time limit together: after `timeoutMs` all of them end with
 * `timed_out`. The work must pass the options that it receives on to every call.
 */
export async function withTimeLimit<Options extends WaitOptions, T>(
  description: string,
  options: Options,
  work: (bounded: Options) => Promise<T>,
): Promise<T> {
  const { signal, timeoutMs = defaultTimeoutMs } = options
  const message = `${description} took longer than ${timeoutMs} ms; it may still complete`
  // Made here, so that its stack shows the caller.
  const expired = new ApiError('timed_out', message)
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(expired), Math.min(timeoutMs, maxTimerMs))
  const bound = signal ? AbortSignal.any([signal, limit.signal]) : limit.signal
  try {
    return await work({ ...options, signal: bound, timeoutMs: Infinity })
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Waits until a condition holds on the server, or the signal aborts. Events of the machine trigger checks;
 * polling continues besides, so that it works without the gateway as well.
 */
export async function waitFor<T>(
  client: Client,
  { machineId, check }: Condition<T>,
  { signal }: CallOptions,
): Promise<T> {
  const stopListening = new AbortController()
  const wakeup = new Wakeup()
  let isListening = false
  try {
    for (let number = 0; ; number++) {
      const woken = wakeup.next()
      const found = await check()
      if (found !== undefined) return found
      if (!isListening && machineId) {
        isListening = true
        void listen(client, machineId, wakeup, stopListening.signal)
      }
      await waitAtMost(woken, wakeup.isConnected ? 5000 : pollMs(number), signal)
    }
  } finally {
    stopListening.abort()
  }
}

/** From 100 ms, growing to 2 s. */
export function pollMs(number: number): number {
  return Math.min(100 * 1.5 ** number, 2000)
}

class Wakeup {
  isConnected = false
  #next = deferred()

  next(): Promise<void> {
    this.#next = deferred()
    return this.#next.promise
  }

  notify(): void {
    this.#next.resolve()
  }
}

async function listen(
  client: Client,
  machineId: string,
  wakeup: Wakeup,
  signal: AbortSignal,
): Promise<void> {
  if (!client.gateway.isUsable) return
  try {
    const path = `/v1/machines/${machineId}/events`
    const socket = await client.gateway.connect(path, { signal })
    wakeup.isConnected = true
    // Events may have been missed before the connection was open.
    wakeup.notify()
    for await (const _ of socket) wakeup.notify()
  } catch {
    // The gateway cannot be reached; polling continues.
  } finally {
    wakeup.isConnected = false
    wakeup.notify()
  }
}

async function waitAtMost(woken: Promise<void>, ms: number, signal?: AbortSignal): Promise<void> {
  const done = new AbortController()
  const bound = signal ? AbortSignal.any([signal, done.signal]) : done.signal
  const pausing = pause(ms, bound)
  try {
    await Promise.race([woken, pausing])
  } finally {
    pausing.catch(() => {})
    done.abort(new Error('wait ended'))
  }
}
