import { Counter, Gauge, type Registry } from 'prom-client'
import { createCallTimer, type CallTimer } from './call-timer.ts'

export type WorkerMetrics = {
  /** Times a pass, which is work that is repeated every so often. */
  readonly timePass: CallTimer
  /** Times the work on one row of a queue. */
  readonly timeStep: CallTimer
  /** Rows that a worker has claimed from a queue. */
  countClaims(queue: string, rows: number): void
  /** How many rows of a queue this worker is working on. */
  setRunning(queue: string, rows: number): void
  /** This worker has the duties of all hosts. */
  setDuties(held: boolean): void
  countMail(outcome: 'sent' | 'postponed' | 'failed'): void
  /** A message for a webhook is not attempted any more. */
  countLostMessage(): void
  countWebhookAttempt(outcome: 'accepted' | 'refused' | 'failed'): void
}

const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 60, 600]

export function createWorkerMetrics(registry: Registry): WorkerMetrics {
  const registers = [registry]
  const claims = new Counter({
    name: 'computer_worker_claims_total',
    help: 'Rows that this worker has claimed, by queue.',
    labelNames: ['queue'],
    registers,
  })
  const running = new Gauge({
    name: 'computer_worker_steps_running',
    help: 'Rows that this worker is working on, by queue.',
    labelNames: ['queue'],
    registers,
  })
  const duties = new Gauge({
    name: 'computer_worker_duties',
    help: '1 while this worker does the duties of all hosts, such as mails, and reports what concerns all of them.',
    registers,
  })
  // A process that is no worker says nothing of it.
  duties.remove()
  const mails = new Counter({
    name: 'computer_mails_total',
    help: 'Attempts to send a mail, by outcome (sent, postponed, failed); failed mails are dropped.',
    labelNames: ['outcome'],
    registers,
  })
  const webhooks = new Counter({
    name: 'computer_webhook_attempts_total',
    help: 'Attempts to deliver a message to a webhook, by outcome (accepted, refused by an answer, failed without one).',
    labelNames: ['outcome'],
    registers,
  })
  const lost = new Counter({
    name: 'computer_webhook_deliveries_failed_total',
    help: 'Messages to webhooks that were given up after the last attempt.',
    registers,
  })
  return {
    timePass: createCallTimer(registry, {
      name: 'computer_worker_pass_duration_seconds',
      help: 'Durations of the periodic work of this worker, by pass and outcome (ok, error).',
      label: 'pass',
      buckets,
    }),
    timeStep: createCallTimer(registry, {
      name: 'computer_worker_step_duration_seconds',
      help: 'Durations of the work on one row, by queue and outcome. A failure that is tried again is ok.',
      label: 'queue',
      buckets,
    }),
    countClaims: (queue, rows) => claims.inc({ queue }, rows),
    setRunning: (queue, rows) => running.set({ queue }, rows),
    setDuties: (held) => duties.set(held ? 1 : 0),
    countMail: (outcome) => mails.inc({ outcome }),
    countLostMessage: () => lost.inc(),
    countWebhookAttempt: (outcome) => webhooks.inc({ outcome }),
  }
}
