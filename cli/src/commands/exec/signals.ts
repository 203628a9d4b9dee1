const interrupts = ['SIGINT', 'SIGTERM', 'SIGKILL'] as const
type Forwarded = (typeof interrupts)[number] | 'SIGHUP' | 'SIGQUIT'

/**
 * Queues signals that arrive while the command starts, then forwards them. Each Ctrl-C is a stronger signal
 * than the one before.
 */
export function queueSignals(): Disposable & {
  forwardTo(send: (signal: Forwarded) => void): void
} {
  const queued: Forwarded[] = []
  let forward: (signal: Forwarded) => void = (signal) => queued.push(signal)
  let count = 0
  const interrupt = () => {
    if (count === interrupts.length) process.exit(130)
    forward(interrupts[count++]!)
  }
  const listeners = (['SIGTERM', 'SIGHUP', 'SIGQUIT'] as const).map((signal) => {
    return [signal, () => forward(signal)] as const
  })
  process.on('SIGINT', interrupt)
  for (const [signal, listener] of listeners) process.on(signal, listener)
  return {
    forwardTo(send) {
      forward = send
      for (const signal of queued.splice(0)) send(signal)
    },
    [Symbol.dispose]() {
      process.off('SIGINT', interrupt)
      for (const [signal, listener] of listeners) process.off(signal, listener)
    },
  }
}
