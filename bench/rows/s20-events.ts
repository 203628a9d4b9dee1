import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { pino } from 'pino'
import { WebSocket } from 'ws'
import { Changes } from '../../server/src/db/changes.ts'
import { openDatabase } from '../../server/src/db/database.ts'
import { databaseUrl } from '../../server/src/host/postgres.ts'
import type { ApiClient } from '../../e2e/harness/api.ts'
import { eventually } from '../../e2e/harness/polling.ts'
import { deleteMachine, type Machine } from '../machine.ts'
import { medianOf, quantile, type Sample } from '../measure.ts'
import type { Bench, BenchContext, FigureRow } from '../row.ts'
import { runRounds } from '../rounds.ts'

/**
 * The commit of an event until a subscriber receives it, at 2,000 commits a second, compared with a NOTIFY
 * in each of as many transactions. The API cannot handle so many calls on one host, so both sides write to
 * Postgres themselves, and ours notifies as the API does.
 */
export const bench: Bench = {
  name: 's20-events',
  title: 'commit to event',
  async run(context) {
    const url = databaseUrl(context.dataDir)
    await using stack = new AsyncDisposableStack()
    const pool = new pg.Pool({ connectionString: url, max: connections })
    stack.defer(() => pool.end())
    const ours = await openOurs(context, url, pool, stack)
    const baseline = await openBaseline(url, pool, stack)

    const results: Record<'ours' | 'baseline', Result[]> = { ours: [], baseline: [] }
    const side = (name: 'ours' | 'baseline', stream: EventStream) => async (): Promise<Sample> => {
      const result = await measure(stream, context.plan.restMs / 2)
      results[name].push(result)
      return { ms: result.p99Ms, wrong: result.wrong }
    }
    // A few rounds are enough, because each has 60,000 commits.
    const plan = { ...context.plan.slow, rounds: Math.min(4, context.plan.slow.rounds), warmups: 1 }
    const sides = { baseline: side('baseline', baseline), ours: side('ours', ours) }
    const rounds = await runRounds(sides, plan, context.say)
    const wrong = rounds.find((round) => round.ours.wrong !== undefined)
    if (wrong) throw new Error(wrong.ours.wrong)
    return [
      ...figures('the event channel', results.ours.slice(plan.warmups), 50),
      ...figures('NOTIFY in each transaction', results.baseline.slice(plan.warmups)),
    ]
  },
}

const writesPerSecond = 2_000
const connections = 16
/** The maximum of concurrent commits; a side that reaches it has reached its full speed. */
const maxConcurrent = 200
/** Commits to one log wait for each other, so several logs are used. */
const logs = 10

/** Logs that number their own events, and a subscriber of all of them. */
type EventStream = {
  /** Resolves after the commit to the number of the event in its log. */
  write(log: number): Promise<number>
  /** Called for each event that the subscriber receives. */
  onArrival: (log: number, sequence: number) => void
}

type Result = {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly perSecond: number
  readonly wrong: string | undefined
}

async function measure(stream: EventStream, forMs: number): Promise<Result> {
  const committed = new Map<string, number>()
  const arrived = new Map<string, number>()
  const last = new Map<number, number>()
  let wrong: string | undefined
  stream.onArrival = (log, sequence) => {
    const expected = (last.get(log) ?? sequence - 1) + 1
    if (sequence !== expected)
      wrong ??= `log ${log}: event ${sequence} arrived instead of ${expected}`
    last.set(log, sequence)
    arrived.set(`${log} ${sequence}`, performance.now())
  }
  const start = performance.now()
  await writeEvenly(forMs, async (log) => {
    const sequence = await stream.write(log)
    committed.set(`${log} ${sequence}`, performance.now())
  })
  const perSecond = committed.size / ((performance.now() - start) / 1000)
  const haveArrived = async () => arrived.size >= committed.size
  const polling = { everyMs: 20, withinMs: 30_000 }
  await eventually('all events arrive', haveArrived, polling).catch(() => {})
  const lost = [...committed.keys()].filter((key) => !arrived.has(key)).length
  if (lost > 0) wrong ??= `${lost} of ${committed.size} events did not arrive`
  // An event may arrive before its writer sees the commit, which counts as zero.
  const ms = [...committed].map(([key, at]) => Math.max(0, (arrived.get(key) ?? NaN) - at))
  ms.sort((a, b) => a - b)
  return { p50Ms: quantile(ms, 0.5), p99Ms: quantile(ms, 0.99), perSecond, wrong }
}

/** Starts writes at an even rate, whether or not earlier ones have ended. */
async function writeEvenly(forMs: number, write: (log: number) => Promise<void>): Promise<void> {
  const start = performance.now()
  const running = new Set<Promise<void>>()
  let started = 0
  let failure: unknown
  for (;;) {
    const elapsedMs = performance.now() - start
    if (elapsedMs > forMs || failure !== undefined) break
    const due = (elapsedMs / 1000) * writesPerSecond
    while (started < due && running.size < maxConcurrent) {
      const one: Promise<void> = write(started++ % logs)
        .catch((error: unknown) => void (failure ??= error))
        .finally(() => running.delete(one))
      running.add(one)
    }
    await delay(2)
  }
  await Promise.all(running)
  if (failure !== undefined) throw failure as Error
}

async function openOurs(
  { api, say }: BenchContext,
  url: string,
  pool: pg.Pool,
  stack: AsyncDisposableStack,
): Promise<EventStream> {
  say('creating the machines whose events are written')
  const machines: string[] = []
  stack.defer(async () => void (await Promise.all(machines.map((id) => deleteMachine(api, id)))))
  for (let log = 0; log < logs; log++) {
    const body = { name: `bench-s20-${log}`, start: false }
    machines.push((await api.ok<Machine>('POST', '/v1/machines', body)).id)
  }
  const log = pino({ level: 'silent' })
  const db = openDatabase(url, { log, maxConnections: 1 })
  stack.defer(() => db.destroy())
  const changes = stack.use(new Changes({ db, databaseUrl: url, log }))
  const socket = await openEvents(api)
  stack.defer(() => socket.terminate())

  const numbers = new Map(machines.map((id, index) => [id, index]))
  const stream: EventStream = {
    async write(number) {
      const id = machines[number]!
      const values = [id, `evt_${randomUUID().replaceAll('-', '')}`]
      const { rows } = await pool.query<{ sequence: number }>({
        name: 's20-ours',
        text: ours,
        values,
      })
      changes.publish(id)
      return rows[0]!.sequence
    },
    onArrival: () => {},
  }
  socket.on('message', (data: Buffer) => {
    const event = JSON.parse(data.toString('utf8')) as { machine_id: string; sequence: number }
    const number = numbers.get(event.machine_id)
    if (number !== undefined) stream.onArrival(number, event.sequence)
  })
  return stream
}

async function openEvents(api: ApiClient): Promise<WebSocket> {
  const { gateway_url } = await api.ok<{ gateway_url: string }>('GET', '/v1/auth/me')
  const headers = { authorization: `Bearer ${api.key}` }
  const socket = new WebSocket(`${gateway_url}/v1/events`, { headers })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return socket
}

async function openBaseline(
  url: string,
  pool: pg.Pool,
  stack: AsyncDisposableStack,
): Promise<EventStream> {
  await pool.query(tables)
  stack.defer(async () => void (await pool.query('drop schema bench cascade')))
  await pool.query('insert into bench.logs select generate_series(0, $1::int)', [logs - 1])
  const listener = new pg.Client({ connectionString: url })
  await listener.connect()
  stack.defer(() => listener.end())
  await listener.query('listen bench')

  const stream: EventStream = {
    async write(number) {
      const values = [number, randomUUID()]
      const { rows } = await pool.query<{ sequence: number }>({
        name: 's20-baseline',
        text: notified,
        values,
      })
      return rows[0]!.sequence
    },
    onArrival: () => {},
  }
  listener.on('notification', ({ payload = '' }) => {
    const [number, sequence] = payload.split(' ').map(Number)
    stream.onArrival(number!, sequence!)
  })
  return stream
}

const ours = `
  with machine as (
    update machines set event_sequence = event_sequence + 1 where id = $1 returning *
  )
  insert into machine_events (id, organization_id, machine_id, type, sequence, occurred_at)
  select $2, organization_id, id, 'machine.updated', event_sequence,
    date_trunc('milliseconds', clock_timestamp())
  from machine returning sequence`

const tables = `
  drop schema if exists bench cascade;
  create schema bench;
  create table bench.logs (id integer primary key, sequence integer not null default 0);
  create table bench.events (
    id text primary key, log integer not null references bench.logs, sequence integer not null,
    occurred_at timestamptz not null default clock_timestamp(), unique (log, sequence)
  )`

const notified = `
  with log as (
    update bench.logs set sequence = sequence + 1 where id = $1 returning *
  ), event as (
    insert into bench.events (id, log, sequence) select $2, id, sequence from log returning *
  )
  select sequence, pg_notify('bench', log || ' ' || sequence) from event`

function figures(what: string, results: readonly Result[], limit?: number): FigureRow[] {
  const figure = (rest: Pick<FigureRow, 'what' | 'value' | 'unit'>): FigureRow => ({
    kind: 'figure',
    id: 'S20',
    ...rest,
  })
  const median = (of: (result: Result) => number) => medianOf(results.map(of))
  const p99 = figure({ what: `${what}: p99`, value: median(({ p99Ms }) => p99Ms), unit: 'ms' })
  return [
    figure({ what: `${what}: p50`, value: median(({ p50Ms }) => p50Ms), unit: 'ms' }),
    limit === undefined ? p99 : { ...p99, limit },
    figure({
      what: `${what}: commits`,
      value: median(({ perSecond }) => perSecond),
      unit: 'a second',
    }),
  ]
}
