import { Counter, Gauge, type Registry } from 'prom-client'

export type WarmMetrics = {
  /** A create that a warm machine fits has taken one, or found none that was ready. */
  countCreate(taken: boolean): void
  /** How many warm machines this host should have. */
  setWanted(count: number): void
}

export function createWarmMetrics(registry: Registry): WarmMetrics {
  const creates = new Counter({
    name: 'computer_warm_machine_creates_total',
    help: 'Creates that could take a warm machine, by outcome (hit, miss).',
    labelNames: ['outcome'],
    registers: [registry],
  })
  const wanted = new Gauge({
    name: 'computer_warm_machines_wanted',
    help: 'Warm machines that the host of this worker should have.',
    registers: [registry],
  })
  // A process that is no worker says nothing of it.
  wanted.remove()
  return {
    countCreate: (taken) => creates.inc({ outcome: taken ? 'hit' : 'miss' }),
    setWanted: (count) => wanted.set(count),
  }
}
