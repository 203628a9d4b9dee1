import { Histogram, type Registry } from 'prom-client'

/** Runs a call, and observes how long it took and how it ended. */
export type CallTimer = <T>(name: string, call: () => Promise<T>) => Promise<T>

/** `label` is the label with the name of the call, of which there must be few. */
export function createCallTimer<Label extends string>(
  registry: Registry,
  options: {
    readonly name: string
    readonly help: string
    readonly label: Label
    readonly buckets: readonly number[]
    /** The outcome of a call that threw. */
    readonly outcomeOf?: (error: unknown) => string
  },
): CallTimer {
  const { name: metric, help, label, outcomeOf = () => 'error' } = options
  const histogram = new Histogram<string>({
    name: metric,
    help,
    labelNames: [label, 'outcome'],
    buckets: [...options.buckets],
    registers: [registry],
  })
  return async (name, call) => {
    const startedMs = performance.now()
    let outcome = 'ok'
    try {
      return await call()
    } catch (error) {
      outcome = outcomeOf(error)
      throw error
    } finally {
      histogram.observe({ [label]: name, outcome }, (performance.now() - startedMs) / 1000)
    }
  }
}
