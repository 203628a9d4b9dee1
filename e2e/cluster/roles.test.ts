import { Computer, type Machine, type TerminalConnection } from '@computer/sdk'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { networkName } from '../../server/src/process.ts'
import { createApiClient, type ApiClient } from '../harness/api.ts'
import { removeEngine } from '../harness/engine-daemon.ts'
import { readGuide } from '../harness/guide.ts'
import {
  endHostServer,
  launchComputer,
  runComputer,
  type HostServer,
} from '../harness/host-server.ts'
import { eventually } from '../harness/polling.ts'
import { freePort } from '../harness/ports.ts'
import { prepareServer } from '../harness/server-folder.ts'
import { startBalancer } from './balancer.ts'
import { addHostAddresses } from './host-addresses.ts'
import { startNetworkPostgres } from './network-postgres.ts'

/*
 * The processes of a server, started one by one as docs/cluster.md tells: two APIs and two gateways behind one address
 * each, a worker and an engine. The tests share them, so each builds on those before it.
 */

type Role = { readonly name: string; readonly args: readonly string[]; readonly port?: number }

const stack = new AsyncDisposableStack()
/** Resources end in the reverse of the order in which they were made. */
const lifetime = { after: (end: () => void | Promise<void>) => stack.defer(async () => end()) }
after(() => stack.disposeAsync())
const [databaseAddress] = await addHostAddresses(lifetime, 1)
const { dataDir, apiPort, gatewayPort, env } = await prepareServer('roles')
env['DATABASE_URL'] = await startNetworkPostgres(lifetime, databaseAddress!)
env['COMPUTER_WARM_MACHINES'] = '0'
const api = await startBehind(apiPort)
const gateway = await startBehind(gatewayPort)
const [engine, worker] = [roleOf('engine'), roleOf('worker')]
const apis = api.map((port) => roleOf('api', 'COMPUTER_API_PORT', port))
const gateways = gateway.map((port) => roleOf('gateway', 'COMPUTER_GATEWAY_PORT', port))
const running = new Map<Role, HostServer>()
let calls: readonly ApiClient[]
let machine: Machine
let terminal: TerminalConnection

before(async () => {
  const { code, output } = await runComputer(env, 'role', 'api')
  assert.equal(code, 1)
  assert.match(output, /run `computer migrate`/)
  const [block] = await readGuide('docs/cluster.md', { from: '## Processes one by one' })
  const [, ...words] = block!.trim().split(' ')
  assert.equal((await runComputer(env, ...words)).code, 0)
  for (const role of [engine, worker, ...apis, ...gateways]) await start(role)
  const key = (await readFile(`${dataDir}/owner.key`, 'utf8')).trim()
  calls = apis.map(({ port }) => createApiClient(`http://127.0.0.1:${port}`, key))
  // An idempotent call may fail once: a process that ends takes its connections with it.
  const baseUrl = `http://127.0.0.1:${apiPort}`
  const computer = new Computer({ apiKey: key, baseUrl, maxRetries: 1, closeOnExit: false })
  machine = await computer.machines.create({})
})

stack.defer(async () => {
  terminal?.close()
  for (const role of [...gateways, ...apis, worker]) await end(role, 'SIGTERM')
  await removeEngine(dataDir, networkName(dataDir))
  await end(engine, 'SIGKILL')
})

test('what begins through one process goes on through any other', async () => {
  const [one, other] = calls
  const { body: made } = await one!.call('POST', '/v1/machines', { name: 'other' })
  await eventually('the other API shows that the machine runs', async () => {
    return (await other!.ok('GET', `/v1/machines/${made.id}`)).state === 'running'
  })
  await other!.run(made.id, ['sh', '-c', 'echo text > note'])
  assert.equal(await one!.run(made.id, ['cat', 'note']), 'text\n')
  assert.equal((await other!.call('DELETE', `/v1/machines/${made.id}`)).status, 202)
})

test('each process is restarted while machines are used, and nobody notices', async () => {
  terminal = machine.terminals.attach((await machine.terminals.open({})).id)
  const shown = show(terminal)
  terminal.write('word=kept; echo begun\n')
  await eventually('the terminal answers', async () => shown.text.includes('begun\r\n'))
  const use = useUntil()
  for (const role of [worker, ...gateways, ...apis, engine]) {
    await end(role, 'SIGTERM')
    await start(role)
    const count = use.count()
    await eventually('calls go on', async () => use.count() > count + 3)
    terminal.write(`echo ${role.name} $word\n`)
    await eventually('the terminal goes on', async () => {
      return shown.text.includes(`${role.name} kept\r\n`)
    })
  }
  assert.deepEqual(await use.end(), [])
  assert.equal((await machine.refresh()).state, 'running')
})

test('a create whose API is killed is done once', async () => {
  const [one, other] = calls
  const headers = { 'idempotency-key': 'killed' }
  const asked = one!.call('POST', '/v1/machines', { name: 'once' }, headers).catch(() => null)
  await end(apis[0]!, 'SIGKILL')
  const before = await asked
  const made = await eventually('the other API answers', async () => {
    const answer = await other!.call('POST', '/v1/machines', { name: 'once' }, headers)
    return answer.status === 201 ? answer.body : undefined
  })
  if (before?.status === 201) assert.equal(made.id, before.body.id)
  const { data } = await other!.ok('GET', '/v1/machines?limit=100')
  const named = (data as { name: string }[]).filter(({ name }) => name === 'once')
  assert.equal(named.length, 1)
})

/** Two ports behind one. */
async function startBehind(port: number): Promise<readonly number[]> {
  const ports = [await freePort(), await freePort()]
  await startBalancer(lifetime, port, ports)
  return ports
}

function roleOf(name: string, variable?: string, port?: number): Role & { env: typeof env } {
  const own = variable === undefined ? {} : { [variable]: String(port) }
  const urls = {
    COMPUTER_BASE_URL: `http://127.0.0.1:${apiPort}`,
    COMPUTER_GATEWAY_URL: `ws://127.0.0.1:${gatewayPort}`,
  }
  const args = ['role', name]
  return { name, args, ...(port !== undefined && { port }), env: { ...env, ...urls, ...own } }
}

async function start(role: ReturnType<typeof roleOf>): Promise<void> {
  const process = launchComputer(role.env, role.args)
  running.set(role, process)
  const { port } = role
  const isReady = async () => {
    if (process.child.exitCode !== null) throw new Error(process.output())
    if (port === undefined) return process.output().includes('up')
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null)
    return answer?.ok
  }
  await eventually(`${role.name} is ready`, isReady, { withinMs: 120_000 })
}

async function end(role: Role, signal: NodeJS.Signals): Promise<void> {
  const process = running.get(role)
  running.delete(role)
  if (process && process.child.exitCode === null) await endHostServer(process, signal)
}

/** Calls of every kind, one after the other, until the end. Each fails at most once. */
function useUntil() {
  const errors: string[] = []
  let [count, isOver] = [0, false]
  const work = async () => {
    while (!isOver) {
      const text = `text ${count}`
      try {
        await machine.files.write('note', text)
        const read = await machine.files.read('note')
        assert.equal(Buffer.from(read).toString(), text)
        await machine.screenshot()
      } catch (error) {
        errors.push((error as Error).message)
      }
      count += 1
    }
  }
  const working = work()
  return {
    count: () => count,
    async end() {
      isOver = true
      await working
      return errors
    },
  }
}

function show(connection: TerminalConnection) {
  const shown = { text: '' }
  void (async () => {
    for await (const bytes of connection) shown.text += Buffer.from(bytes).toString()
  })().catch(() => {})
  return shown
}
