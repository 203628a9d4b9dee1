import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { networkName } from '../../server/src/process.ts'
import type { Lifetime } from '../../server/test/harness.ts'
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

type Environment = NodeJS.ProcessEnv
type Role = {
  readonly name: string
  readonly args: readonly string[]
  readonly env: Environment
  /** Where it answers; a worker and an engine have none. */
  readonly port?: number
}

/** A server whose processes are started one by one: two APIs and two gateways behind one address each, a worker and an engine. */
export type RoleServer = {
  readonly baseUrl: string
  readonly key: string
  /** The address of all APIs. */
  readonly api: ApiClient
  /** Each API itself. */
  readonly apis: readonly ApiClient[]
  /** In the order of an upgrade, and the engine last. */
  readonly roles: readonly Role[]
  start(role: Role): Promise<void>
  end(role: Role, signal: NodeJS.Signals): Promise<void>
}

/** Does what docs/cluster.md tells. */
export async function startRoleServer(lifetime: Lifetime, name: string): Promise<RoleServer> {
  const [databaseAddress] = await addHostAddresses(lifetime, 1)
  const { dataDir, apiPort, gatewayPort, env } = await prepareServer(name)
  env['DATABASE_URL'] = await startNetworkPostgres(lifetime, databaseAddress!)
  env['COMPUTER_WARM_MACHINES'] = '0'
  env['COMPUTER_BASE_URL'] = `http://127.0.0.1:${apiPort}`
  env['COMPUTER_GATEWAY_URL'] = `ws://127.0.0.1:${gatewayPort}`
  const api = await startBehind(lifetime, apiPort)
  const gateway = await startBehind(lifetime, gatewayPort)
  const [engine, worker] = [roleOf(env, 'engine'), roleOf(env, 'worker')]
  const apis = api.map((port) => roleOf(env, 'api', 'COMPUTER_API_PORT', port))
  const gateways = gateway.map((port) => roleOf(env, 'gateway', 'COMPUTER_GATEWAY_PORT', port))
  const running = new Map<Role, HostServer>()

  async function start(role: Role): Promise<void> {
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

  lifetime.after(async () => {
    for (const role of [...gateways, ...apis, worker]) await end(role, 'SIGTERM')
    await removeEngine(dataDir, networkName(dataDir))
    await end(engine, 'SIGKILL')
  })
  const early = await runComputer(env, 'role', 'api')
  assert.equal(early.code, 1)
  assert.match(early.output, /run `computer migrate`/)
  const [block] = await readGuide('docs/cluster.md', { from: '## Processes one by one' })
  const [, ...words] = block!.trim().split(' ')
  const { code, output } = await runComputer(env, ...words)
  assert.equal(code, 0, output)
  for (const role of [engine, worker, ...apis, ...gateways]) await start(role)
  const key = (await readFile(`${dataDir}/owner.key`, 'utf8')).trim()
  const clientOf = (port: number) => createApiClient(`http://127.0.0.1:${port}`, key)
  return {
    baseUrl: env['COMPUTER_BASE_URL'],
    key,
    api: clientOf(apiPort),
    apis: api.map(clientOf),
    roles: [worker, ...gateways, ...apis, engine],
    start,
    end,
  }
}

/** Two ports behind one. */
async function startBehind(lifetime: Lifetime, port: number): Promise<readonly number[]> {
  const ports = [await freePort(), await freePort()]
  await startBalancer(lifetime, port, ports)
  return ports
}

function roleOf(env: Environment, name: string, variable?: string, port?: number): Role {
  const args = ['role', name]
  if (variable === undefined || port === undefined) return { name, args, env }
  return { name, args, env: { ...env, [variable]: String(port) }, port }
}
