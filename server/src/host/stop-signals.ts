import type { Terminal } from './terminal.ts'

const sameKeyPressMs = 1000

export type StopWatch = {
  /** Aborted when a stop is asked for. */
  readonly signal: AbortSignal
  readonly asked: Promise<void>
  dispose(): void
}

/** Ctrl-C and SIGTERM ask for a stop; a second one does not wait for it and calls `force`. */
export function watchStopSignals(terminal: Terminal, force: () => void): StopWatch {
  const stop = new AbortController()
  const asked = new Promise<void>((resolve) => {
    stop.signal.addEventListener('abort', () => resolve(), { once: true })
  })
  let askedAt = 0
  const onSignal = () => {
    if (!stop.signal.aborted) {
      askedAt = performance.now()
      terminal.say('stopping; once more to force it')
      stop.abort()
    } else if (performance.now() - askedAt > sameKeyPressMs) {
      // npm and shells pass on a signal that the terminal has sent to us already.
      terminal.say('stopping by force')
      force()
    }
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const name of signals) process.on(name, onSignal)
  return {
    signal: stop.signal,
    asked,
    dispose() {
      for (const name of signals) process.off(name, onSignal)
    },
  }
}
