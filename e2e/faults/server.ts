import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  identifyProcess,
  isAlive,
  sendSignal,
  type ProcessRecord,
} from '../../server/src/host/process-record.ts'
import { networkName } from '../../server/src/process.ts'
import { createApiClient, type ApiClient } from '../harness/api.ts'
import { eventually } from '../harness/polling.ts'
import { removeEngine } from '../harness/engine-daemon.ts'
import { prepareServer } from '../harness/server-folder.ts'

const entry = fileURLToPath(new URL('../../server/src/main-up.ts', import.meta.url))
const upBoundMs = 300_000

export const processNames = ['postgres', 'engine', 'worker', 'api', 'gateway'] as const
export type ProcessName = (typeof processNames)[number] | 'supervisor'

/** A whole server that is restarted whenever it ends, as a host's init would do. */
export type FaultServer = AsyncDisposable & {
  readonly api: ApiClient
  readonly dataDir: string
  readonly network: string
  /** How often `computer up` ended by itself, which may happen if a kill disturbs its start. */
  readonly failedStarts: number
  /** Waits until all of the processes run, then kills them with SIGKILL. */
  kill(names: readonly ProcessName[]): Promise<void>
  /** Resolves when every process runs. */
  waitAlive(): Promise<void>
  /** Resolves when every process runs and the server is ready. */
  waitReady(): Promise<void>
}

export async function startFaultServer(): Promise<FaultServer> {
  const { dataDir, apiPort, gatewayPort, env } = await prepareServer('faults')
  const network = networkName(dataDir)
  const log = openSync(join(dataDir, 'supervisor.log'), 'a')
  const killed = new WeakSet<ChildProcess>()
  let isEnding = false
  let failedStarts = 0
  let child = launch()

  function launch(): ChildProcess {
    const up = spawn(process.execPath, [entry], { env, stdio: ['ignore', log, log] })
    up.once('exit', () => {
      if (isEnding) return
      if (!killed.has(up)) failedStarts += 1
      child = launch()
    })
    return up
  }

  async function find(name: ProcessName): Promise<ProcessRecord | null> {
    if (name === 'supervisor') return child.pid === undefined ? null : identifyProcess(child.pid)
    const text = await readFile(join(dataDir, 'run', `${name}.pid`), 'utf8').catch(() => 'null')
    const record = JSON.parse(text) as ProcessRecord | null
    return record && isAlive(record) ? record : null
  }

  async function findAll(names: readonly ProcessName[]): Promise<ProcessRecord[] | undefined> {
    const found = await Promise.all(names.map(find))
    return found.every((record) => record !== null) ? found : undefined
  }

  const waitAlive = async () => {
    await eventually('every process runs', () => findAll(processNames), { withinMs: upBoundMs })
  }
  const isReady = (port: number) =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  async function waitReady(): Promise<void> {
    await waitAlive()
    const areReady = async () => (await isReady(apiPort)) && (await isReady(gatewayPort))
    await eventually('the server is ready', areReady, { withinMs: upBoundMs })
  }
  async function dispose(): Promise<void> {
    isEnding = true
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    }
    closeSync(log)
    await removeEngine(dataDir, network)
  }

  try {
    await waitReady()
    const key = (await readFile(join(dataDir, 'owner.key'), 'utf8')).trim()
    return {
      api: createApiClient(`http://127.0.0.1:${apiPort}`, key),
      dataDir,
      network,
      get failedStarts() {
        return failedStarts
      },
      async kill(names) {
        const what = names.join(', ')
        const records = await eventually(`${what} runs`, () => findAll(names), {
          withinMs: upBoundMs,
        })
        for (const { pid } of records) {
          if (pid === child.pid) killed.add(child)
          sendSignal(pid, 'SIGKILL')
        }
        const areGone = async () => !records.some(isAlive)
        await eventually(`${what} is gone`, areGone)
      },
      waitAlive,
      waitReady,
      [Symbol.asyncDispose]: dispose,
    }
  } catch (error) {
    const output = await readFile(join(dataDir, 'supervisor.log'), 'utf8')
    await dispose()
    throw new Error(`the server did not start:\n${output.slice(-4000)}`, { cause: error })
  }
}
