import { Registry } from 'prom-client'
import { GuestRefusal, GuestUnavailable } from '../guest/errors.ts'
import { createCallTimer, type CallTimer } from './call-timer.ts'
import { createGatewayMetrics, type GatewayMetrics } from './gateway.ts'
import { createRequestMetrics, type RequestMetrics } from './requests.ts'
import { createWarmMetrics, type WarmMetrics } from './warm-machines.ts'
import { createWorkerMetrics, type WorkerMetrics } from './worker.ts'

/*
 * What a process counts for an operator: docs/operations.md lists it, and listener.ts serves it to Prometheus.
 *
 * A label has one of a few values that the code or the operator has chosen: no id, no name that a user gave, no address
 * of a caller. All that is counted is counted per call, step or connection, never per frame or byte.
 */
export type Metrics = {
  readonly registry: Registry
  readonly requests: RequestMetrics
  /** Times calls to the engine. */
  readonly timeEngineCall: CallTimer
  /** Times calls to agents. */
  readonly timeGuestCall: CallTimer
  readonly gateway: GatewayMetrics
  readonly worker: WorkerMetrics
  readonly warm: WarmMetrics
}

/** The metrics of one process. Those of another role stay empty. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  return {
    registry,
    requests: createRequestMetrics(registry),
    timeEngineCall: createCallTimer(registry, {
      name: 'computer_engine_call_duration_seconds',
      help: 'Durations of calls to the engine, by method of the driver and outcome (ok, error).',
      label: 'method',
      buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120],
    }),
    timeGuestCall: createCallTimer(registry, {
      name: 'computer_guest_call_duration_seconds',
      help: 'Durations of calls to the agents in machines until their answer, by route and outcome (ok, refused, aborted, error).',
      label: 'call',
      buckets: [0.001, 0.005, 0.025, 0.1, 0.25, 1, 2.5, 10, 60],
      outcomeOf: guestOutcome,
    }),
    gateway: createGatewayMetrics(registry),
    worker: createWorkerMetrics(registry),
    warm: createWarmMetrics(registry),
  }
}

/** A refusal is the agent's answer, such as that a file does not exist; a caller may give a call up. */
function guestOutcome(error: unknown): string {
  if (error instanceof GuestRefusal) return 'refused'
  return error instanceof GuestUnavailable ? 'error' : 'aborted'
}
