import type { Client } from './client.ts'
import { ApiError } from './errors.ts'
import type { WaitOptions } from './options.ts'
import { deferred, pause } from './retry.ts'

const defaultTimeoutMs = 300_000

type Condition<T> = {
  /** For the message of `timed_out`. */
  readonly description: string
  /** The machine whose events trigger a check, if any. */
  readonly machineId: string | null
  /** Resolves to undefined while the condition does not hold. Throws if it never will. */
  readonly check: () => Promise<T | undefined>
}

/**
 * Waits until a condition holds on the server. Events of the machine trigger checks; polling continues
 * besides, so that it works without the gateway as well.
 */
export async function waitFor<T>(
  client: Client,
  { description, machineId, check }: Condition<T>,
  { signal, timeoutMs = defaultTimeoutMs }: WaitOptions,
): Promise<T> {
  const deadline = Date.now() + timeoutMs
  const stopListening = new AbortController()
  const wakeup = new Wakeup()
  let isListening = false
  try {
    for (let number = 0; ; number++) {
      const woken = wakeup.next()
      const found = await check()
      if (found !== undefined) return found
      const remainingMs = deadline - Date.now()
      if (remainingMs <= 0) {
        throw new ApiError(
          'timed_out',
          `${description} took longer than ${timeoutMs} ms; it may still complete`,
        )
      }
      if (!isListening && machineId) {
        isListening = true
        void listen(client, machineId, wakeup, stopListening.signal)
      }
      const intervalMs = wakeup.isConnected ? 5000 : pollMs(number)
      await waitAtMost(woken, Math.min(intervalMs, remainingMs), signal)
    }
  } finally {
    stopListening.abort()
  }
}

/** From 100 ms, growing to 2 s. */
function pollMs(number: number): number {
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
    const socket = await client.gateway.connect(`/v1/machines/${machineId}/events`, signal)
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
