import { useSyncExternalStore } from 'react'

/*
 * Whether what the pages show is kept current. Events and ticks of the gateway say so; without one for 12
 * seconds the pages may be out of date.
 */

const silenceMs = 12_000
const checkMs = 1_000

let heardAt = Date.now()
/** Since when nothing was heard, in milliseconds; undefined while updates arrive. */
let silentSince: number | undefined
const listeners = new Set<() => void>()

/** Call for everything that arrives. */
export function heard(): void {
  heardAt = Date.now()
  check()
}

/** Looks for silence until the function that it returns is called. */
export function watchSilence(): () => void {
  heard()
  const timer = setInterval(check, checkMs)
  return () => clearInterval(timer)
}

export function useSilence(): number | undefined {
  return useSyncExternalStore(subscribe, () => silentSince)
}

function check(): void {
  const next = Date.now() - heardAt > silenceMs ? heardAt : undefined
  if (next === silentSince) return
  silentSince = next
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
