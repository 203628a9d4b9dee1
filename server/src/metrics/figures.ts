import { Counter, Gauge, type Registry } from 'prom-client'
import type { App } from '../app.ts'
import { readFigures, type Figures } from '../domain/figures/figures.ts'
import { waitAtMost } from '../pace.ts'

/*
 * Figures of the database as metrics of the worker that has the duties. They are read when Prometheus asks, at most once
 * in five seconds and never twice at the same time. If the database takes too long, the scrape has all other metrics.
 */

const statementLimitMs = 2_000
/** Also while all connections are busy. */
const scrapeLimitMs = 3_000

type Labels = Readonly<Record<string, string>>
type Sample = readonly [labels: Labels, value: number]
type Figure = {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  read(figures: Figures): readonly Sample[]
}

/** Adds the figures to the metrics of a worker. */
export function addFigures(
  app: Pick<App, 'db' | 'config' | 'log' | 'metrics'>,
  { keptMs = 5_000 }: { readonly keptMs?: number } = {},
): void {
  const { registry } = app.metrics
  const failures = new Counter({
    name: 'computer_figures_failed_total',
    help: 'Reads of the figures of the database that failed or took too long; scrapes lack them then.',
    registers: [registry],
  })
  const read = keep(keptMs, (settled) => {
    const reading = readFigures(app, statementLimitMs).finally(settled)
    return requireInTime(reading).catch((error: unknown) => {
      app.log.warn({ err: error }, 'could not read the figures of the database for a scrape')
      failures.inc()
      return null
    })
  })
  for (const figure of figures) addGauge(registry, figure, read)
}

function addGauge(
  registry: Registry,
  { name, help, labels, read }: Figure,
  readAll: () => Promise<Figures | null>,
): void {
  new Gauge<string>({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
    async collect() {
      const now = await readAll()
      this.reset()
      for (const [labelled, value] of now ? read(now) : []) this.set(labelled, value)
    },
  })
}

const figures: readonly Figure[] = [
  {
    name: 'computer_machines',
    help: 'Machines, by host and state.',
    labels: ['host', 'state'],
    read: ({ machines }) => machines.map(({ host, state, count }) => [{ host, state }, count]),
  },
  {
    name: 'computer_warm_machines',
    help: 'Warm machines, by host and state (making, ready, ending).',
    labels: ['host', 'state'],
    read: ({ warmMachines }) =>
      warmMachines.map(({ host, state, count }) => [{ host, state }, count]),
  },
  {
    name: 'computer_work_waiting',
    help: 'Work that is due and that no worker works on, by kind; 10000 stands for more.',
    labels: ['kind'],
    read: ({ work }) => work.map(({ kind, waiting }) => [{ kind }, waiting]),
  },
  {
    name: 'computer_work_oldest_seconds',
    help: 'How long the oldest work that waits has been due, by kind.',
    labels: ['kind'],
    read: ({ work }) => work.map(({ kind, oldest_seconds: seconds }) => [{ kind }, seconds]),
  },
  {
    name: 'computer_work_retrying',
    help: 'Work that has failed and is tried again, by kind.',
    labels: ['kind'],
    read: ({ work }) => work.map(({ kind, retrying }) => [{ kind }, retrying]),
  },
  ...ofHosts('computer_host_disk_bytes', 'Size of the pool of disks, by host.', 'total_bytes'),
  ...ofHosts('computer_host_disk_free_bytes', 'What is left of the pool, by host.', 'free_bytes'),
  ...ofHosts('computer_host_memory_bytes', 'Memory of the host.', 'memory_total_bytes'),
  ...ofHosts(
    'computer_host_memory_available_bytes',
    'Memory of the host that programs could still take.',
    'memory_available_bytes',
  ),
  ...ofHosts(
    'computer_host_machines_room',
    'For how many more running machines the host has memory.',
    'memory_room',
  ),
  ...ofHosts(
    'computer_host_silent_seconds',
    'Time since the last sign of life of the worker of a host.',
    'silent_seconds',
  ),
  {
    name: 'computer_host_healthy',
    help: '1 while the engine and the worker of a host answer.',
    labels: ['host'],
    read: ({ hosts }) =>
      hosts.map(({ name: host, is_healthy: isHealthy }) => [{ host }, isHealthy ? 1 : 0]),
  },
  {
    name: 'computer_host_state',
    help: '1 for the state of a host (ready, draining, drained).',
    labels: ['host', 'state'],
    read: ({ hosts }) => hosts.map(({ name: host, state }) => [{ host, state }, 1]),
  },
]

/** A figure of each host that has been measured. */
function ofHosts(
  name: string,
  help: string,
  column:
    | 'total_bytes'
    | 'free_bytes'
    | 'memory_total_bytes'
    | 'memory_available_bytes'
    | 'silent_seconds'
    | 'memory_room',
): readonly Figure[] {
  const read = ({ hosts }: Figures): readonly Sample[] =>
    hosts.flatMap(({ name: host, [column]: value }) =>
      value === null ? [] : [[{ host }, value] as const],
    )
  return [{ name, help, labels: ['host'], read }]
}

/** Returns the same result until the read has settled and that much time has passed since. */
function keep<T>(ms: number, read: (settled: () => void) => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined
  let settledMs: number | undefined
  return () => {
    const isOld = settledMs !== undefined && performance.now() - settledMs >= ms
    if (current && !isOld) return current
    settledMs = undefined
    current = read(() => (settledMs = performance.now()))
    return current
  }
}

async function requireInTime<T>(reading: Promise<T>): Promise<T> {
  const read = await waitAtMost(scrapeLimitMs, reading)
  if (read === undefined) throw new Error(`the database did not answer in ${scrapeLimitMs} ms`)
  return read
}
