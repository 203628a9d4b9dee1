import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { databaseUrl } from '../../server/src/host/postgres.ts'
import { isAlive, sendSignal } from '../../server/src/host/process-record.ts'
import { createApiClient, type ApiClient } from '../harness/api.ts'
import { eventually } from '../harness/polling.ts'
import { freePort } from '../harness/ports.ts'
import { prepareServer } from '../harness/server-folder.ts'
import { startFaultHost, type FaultHost, type ProcessName } from './fault-host.ts'

const upBoundMs = 300_000

export type Victim = { readonly host: FaultHost; readonly process: ProcessName }

/** A whole server of one or several hosts. The first has the database. */
export type FaultServer = AsyncDisposable & {
  readonly hosts: readonly FaultHost[]
  /** The API of each host. */
  readonly clients: readonly ApiClient[]
  /** Each call goes to the API of the next host. */
  readonly api: Pick<ApiClient, 'call'>
  /** Waits until all of the processes run, then kills them with SIGKILL. */
  kill(victims: readonly Victim[]): Promise<void>
  /** Resolves when every process runs. */
  waitAlive(): Promise<void>
  /** Resolves when every process runs and every host is ready. */
  waitReady(): Promise<void>
}

export async function startFaultServer(
  hostCount: number,
  env: Readonly<Record<string, string>> = {},
): Promise<FaultServer> {
  await using stack = new AsyncDisposableStack()
  const hosts: FaultHost[] = []
  const waitReady = async () => {
    await waitAlive()
    const areReady = async () =>
      (await Promise.all(hosts.map((host) => host.isReady()))).every(Boolean)
    await eventually('the server is ready', areReady, { withinMs: upBoundMs })
  }
  async function waitAlive(): Promise<void> {
    const every = hosts.flatMap((host) => host.processes.map((process) => ({ host, process })))
    await eventually('every process runs', () => findAll(every), { withinMs: upBoundMs })
  }
  while (hosts.length < hostCount) {
    const host = await addHost(hosts, hostCount, env)
    hosts.push(stack.use(host))
    await waitReady().catch(async (error: unknown) => {
      const output = await host.readOutput()
      throw new Error(`${host.name} did not start:\n${output}`, { cause: error })
    })
  }
  const key = (await readFile(join(hosts[0]!.dataDir, 'owner.key'), 'utf8')).trim()
  const clients = hosts.map(({ apiUrl }) => createApiClient(apiUrl, key))
  let calls = 0
  const resources = stack.move()
  return {
    hosts,
    clients,
    api: { call: (...args) => clients[calls++ % clients.length]!.call(...args) },
    kill,
    waitAlive,
    waitReady,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Starts another host, with the keyring and the database of the first one. */
async function addHost(
  hosts: readonly FaultHost[],
  hostCount: number,
  env: Readonly<Record<string, string>>,
): Promise<FaultHost> {
  const [first] = hosts
  const name = first ? `host-${hosts.length + 1}` : 'local'
  const place = await prepareServer(`faults-${name}`)
  Object.assign(place.env, env)
  place.env['COMPUTER_PREVIEW_DOMAIN'] = 'localhost'
  place.env['COMPUTER_PREVIEW_PORT'] = String(await freePort())
  if (hostCount > 1) place.env['COMPUTER_HOST_ADDRESS'] = `127.0.0.1:${await freePort()}`
  if (first) {
    place.env['COMPUTER_HOST'] = name
    place.env['DATABASE_URL'] = databaseUrl(first.dataDir)
    const keyring = 'secrets.keyring'
    await copyFile(join(first.dataDir, keyring), join(place.dataDir, keyring))
  }
  return startFaultHost(name, place)
}

async function findAll(victims: readonly Victim[]) {
  const found = await Promise.all(victims.map(({ host, process }) => host.find(process)))
  return found.every((record) => record !== null) ? found : undefined
}

async function kill(victims: readonly Victim[]): Promise<void> {
  const what = victims.map(({ host, process }) => `${process} of ${host.name}`).join(', ')
  const records = await eventually(`${what} runs`, () => findAll(victims), { withinMs: upBoundMs })
  for (const [index, { pid }] of records.entries()) {
    victims[index]!.host.expectEnd(pid)
    sendSignal(pid, 'SIGKILL')
  }
  const areGone = async () => !records.some(isAlive)
  await eventually(`${what} is gone`, areGone)
}
