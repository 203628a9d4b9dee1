import type { Terminal } from './terminal.ts'

const sameKeyPressMs = 1000

export type StopRequest = {
  /** Aborted when a stop is requested. */
  readonly signal: AbortSignal
  readonly requested: Promise<void>
  dispose(): void
}

/** Ctrl-C and SIGTERM request a stop. A second signal calls `force`. */
export function watchStopSignals(terminal: Terminal, force: () => void): StopRequest {
  const stop = new AbortController()
  const requested = new Promise<void>((resolve) => {
    stop.signal.addEventListener('abort', () => resolve(), { once: true })
  })
  let requestedAt = 0
  const onSignal = () => {
    if (!stop.signal.aborted) {
      requestedAt = performance.now()
      terminal.say('stopping; press Ctrl-C again to force it')
      stop.abort()
    } else if (performance.now() - requestedAt > sameKeyPressMs) {
      // npm and shells forward a signal that the terminal has already sent to us.
      terminal.say('killing all programs')
      force()
    }
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const name of signals) process.on(name, onSignal)
  return {
    signal: stop.signal,
    requested,
    dispose() {
      for (const name of signals) process.off(name, onSignal)
    },
  }
}
