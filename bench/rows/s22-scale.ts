import { setTimeout as delay } from 'node:timers/promises'
import { compareRounds, type Bench, type FigureRow, type Row } from '../row.ts'
import { runRounds, time } from '../rounds.ts'
import { metadata, openSimulated, type Simulated } from '../simulated.ts'

/**
 * The control plane with 10,000 machines of 1,000 organizations and a million events, compared with itself with 100
 * machines: the same calls by a caller who has ten machines either way. Both have a real Postgres and the fake engine.
 */
export const bench: Bench = {
  name: 's22-scale',
  title: '10,000 machines',
  async run({ plan, say }) {
    await using stack = new AsyncDisposableStack()
    say('filling the small server')
    const small = await openSimulated(stack, { machines: 100, events: 10_000 })
    say('filling the large server')
    const large = await openSimulated(stack, { machines: 10_000, events: 1_000_000 })
    const rows: Row[] = [
      await measureIdle(small, plan.restMs, '100 machines'),
      await measureIdle(large, plan.restMs, '10,000 machines'),
    ]
    for (const server of [small, large]) server.startWorker()
    for (const { what, call } of calls) {
      const sides = { baseline: () => call(small), ours: () => call(large) }
      const rounds = await runRounds(sides, plan.fast, (progress) => say(`${what}, ${progress}`))
      rows.push(
        compareRounds(rounds, {
          id: 'S22',
          ours: `${what}, 10,000 machines`,
          baseline: '100 machines',
          target: { ratio: 1.3 },
        }),
      )
    }
    rows.push(await measureDay(large, plan.restMs))
    return rows
  },
}

type Timed = Promise<{ readonly ms: number; readonly wrong: string | undefined }>

/** The calls, each with a check of its answer. */
const calls: readonly { readonly what: string; call(server: Simulated): Timed }[] = [
  { what: 'list', call: (server) => get(server, '/v1/machines', ({ data }) => data.length === 10) },
  {
    what: 'list by metadata',
    call: (server) =>
      get(server, `/v1/machines?metadata[team]=${metadata.team}`, ({ data }) => data.length === 1),
  },
  {
    what: 'read',
    call: (server) =>
      get(server, `/v1/machines/${server.machineId}`, (body) => body.id === server.machineId),
  },
  {
    what: 'events',
    call: (server) =>
      get(server, `/v1/machines/${server.machineId}/events`, ({ data }) => data.length > 0),
  },
  { what: 'create, not started', call: (server) => create(server, { start: false }, 'stopped') },
  { what: 'create', call: (server) => create(server, {}, 'running') },
]

// Bodies are checked field by field.
// oxlint-disable-next-line typescript/no-explicit-any
async function get(server: Simulated, path: string, isRight: (body: any) => boolean): Timed {
  const { ms, result } = await time(() => server.call('GET', path))
  const isFine = result.status === 200 && isRight(result.body)
  return { ms, wrong: isFine ? undefined : `${path}: ${result.bytes}` }
}

/** Deletes the machine afterwards, so that the caller has as many at the next call. */
async function create(server: Simulated, input: object, state: string): Timed {
  const { ms, result } = await time(() => server.call('POST', '/v1/machines', input))
  const path = `/v1/machines/${result.body.id}`
  await server.call('DELETE', path)
  while ((await server.call('GET', path)).status !== 404) await delay(5)
  const isFine = result.status === 201 && result.body.state === state
  return { ms, wrong: isFine ? undefined : String(result.bytes) }
}

const callers = 8

/**
 * How long a day of 10,000 machines takes: each is started and stopped once, and a tenth of them is created and deleted.
 * Callers do the same with machines of their own for a while, each call until its machine is in the state.
 */
async function measureDay(server: Simulated, forMs: number): Promise<FigureRow> {
  const endMs = performance.now() + forMs
  let done = 0
  const work = async () => {
    while (performance.now() < endMs) {
      const { body } = await server.call('POST', '/v1/machines', { start: false })
      const path = `/v1/machines/${body.id}`
      for (let turn = 0; turn < 10; turn++) {
        await change(`${path}/start?wait=20`, 'running')
        await change(`${path}/stop?wait=20`, 'stopped')
      }
      await server.call('DELETE', path)
      done += 22
    }
  }
  const change = async (path: string, state: string) => {
    const { body, bytes } = await server.call('POST', path)
    if (body?.state !== state) throw new Error(`${path}: ${bytes}`)
  }
  const startMs = performance.now()
  await Promise.all(Array.from({ length: callers }, work))
  const minutes = (performance.now() - startMs) / 60_000
  const value = (minutes * 2.2 * 10_000) / done
  return {
    kind: 'figure',
    id: 'S22',
    what: 'a day of 10,000 machines',
    value,
    unit: 'min',
    limit: 60,
  }
}

/** The processor time of a worker with nothing to do, and of the statements that it sends. */
async function measureIdle(server: Simulated, forMs: number, what: string): Promise<FigureRow> {
  const { stop } = server.startWorker()
  // Its first pass compares all rows with the engine.
  await delay(forMs / 4)
  const before = process.cpuUsage()
  await delay(forMs)
  const { user, system } = process.cpuUsage(before)
  await stop()
  const value = ((user + system) / 1000 / forMs) * 100
  return { kind: 'figure', id: 'S22', what: `a worker at rest, ${what}`, value, unit: '% CPU' }
}
