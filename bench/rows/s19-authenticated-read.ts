import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { pinTo } from '../cores.ts'
import { runLoad, type Load } from '../load.ts'
import { deleteMachine, type Machine } from '../machine.ts'
import { readServerPid } from '../../e2e/harness/processes.ts'
import { listTree } from '../processes.ts'
import { compareSides, type Bench, type BenchContext, type Row } from '../row.ts'
import { runRounds } from '../rounds.ts'

const requests = 4000
const connections = 32
const [clientCore, serverCore] = [0, 1]

/**
 * Reads a machine with an API key at the API's full speed, compared with the smallest server of the same
 * framework. The server under test has one core to itself; the client and Postgres use the other.
 */
export const bench: Bench = {
  name: 's19-authenticated-read',
  title: 'authenticated read of a machine',
  async run(context) {
    if (availableParallelism() < 2) throw new Error('this needs two cores')
    const { api, dataDir } = context
    const body = { name: 'bench-s19', start: false }
    const machine = await api.ok<Machine>('POST', '/v1/machines', body)
    const hello = await startHello()
    try {
      using _server = pinTo(serverCore, [hello.pid, readServerPid(dataDir, 'api')])
      const postgres = listTree(readServerPid(dataDir, 'postgres'))
      using _client = pinTo(clientCore, [process.pid, ...postgres])
      return await measure(context, hello.url, machine)
    } finally {
      hello.stop()
      await deleteMachine(api, machine.id)
    }
  },
}

async function measure(context: BenchContext, helloUrl: URL, { id }: Machine): Promise<Row[]> {
  const { api, plan, say } = context
  const path = `/v1/machines/${id}`
  const { bytes } = await api.call('GET', path)
  const shared = { requests, connections }
  const hello: Load = { ...shared, url: helloUrl, headers: {}, body: '{"hello":"world"}' }
  const read: Load = {
    ...shared,
    url: new URL(path, api.baseUrl),
    headers: { authorization: `Bearer ${api.key}` },
    body: bytes.toString('latin1'),
  }
  const sides = { baseline: () => runLoad(hello), ours: () => runLoad(read) }
  const rounds = await runRounds(sides, plan.slow, say)
  const row = compareSides(
    rounds,
    { baseline: 'baseline', ours: 'ours' },
    {
      id: 'S19',
      ours: `${requests} machines read`,
      baseline: 'bare Fastify',
      target: { ratio: 4 },
    },
  )
  const [ours, baseline] = [row.comparison.oursMs, row.comparison.baselineMs].map(({ p50 }) =>
    Math.round(requests / (p50 / 1000)),
  )
  return [
    { ...row, note: `${ours} requests per second, ${baseline} for the baseline, each on one core` },
  ]
}

async function startHello(): Promise<{ pid: number; url: URL; stop(): void }> {
  const path = fileURLToPath(new URL('../hello.ts', import.meta.url))
  const child = spawn(process.execPath, [path], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [address] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
  return {
    pid: child.pid!,
    url: new URL(address.trim()),
    stop: () => void child.kill(),
  }
}
