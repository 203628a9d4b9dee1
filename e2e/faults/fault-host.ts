import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  identifyProcess,
  isAlive,
  sendSignal,
  type ProcessRecord,
} from '../../server/src/host/process-record.ts'
import { networkName } from '../../server/src/process.ts'
import { findInits } from './compare-processes.ts'
import { removeEngine } from '../harness/engine-daemon.ts'
import type { prepareServer } from '../harness/server-folder.ts'

const entry = fileURLToPath(new URL('../../server/src/main-up.ts', import.meta.url))

const services = ['engine', 'worker', 'api', 'gateway'] as const
export type ProcessName = (typeof services)[number] | 'postgres' | 'supervisor'

/** One host of a server, whose `computer up` is started again whenever it ends, as the host's init would do. */
export type FaultHost = AsyncDisposable & {
  readonly name: string
  readonly dataDir: string
  readonly network: string
  readonly apiUrl: string
  /** The processes below the supervisor. */
  readonly processes: readonly ProcessName[]
  /** How often `computer up` ended by itself, which may happen if a kill disturbs its start. */
  readonly failedStarts: number
  find(process: ProcessName): Promise<ProcessRecord | null>
  /** The supervisor's end is no failed start. */
  expectEnd(pid: number): void
  /** Kills all processes of the host and of its machines, and starts it again after that time. */
  goAway(ms: number): Promise<void>
  isReady(): Promise<boolean>
  /** The end of what `computer up` has printed. */
  readOutput(): Promise<string>
}

export function startFaultHost(
  name: string,
  { dataDir, apiPort, gatewayPort, env }: Awaited<ReturnType<typeof prepareServer>>,
): FaultHost {
  const network = networkName(dataDir)
  const logPath = join(dataDir, 'supervisor.log')
  const log = openSync(logPath, 'a')
  const killed = new WeakSet<ChildProcess>()
  let [isEnding, isAway] = [false, false]
  let failedStarts = 0
  let child = launch()

  function launch(): ChildProcess {
    const up = spawn(process.execPath, [entry], { env, stdio: ['ignore', log, log] })
    up.once('exit', () => {
      if (isEnding || isAway) return
      if (!killed.has(up)) failedStarts += 1
      child = launch()
    })
    return up
  }

  const answers = (port: number) =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  const processes =
    env['DATABASE_URL'] === undefined ? (['postgres', ...services] as const) : services
  async function find(process: ProcessName): Promise<ProcessRecord | null> {
    if (process === 'supervisor') return child.pid === undefined ? null : identifyProcess(child.pid)
    const path = join(dataDir, 'run', `${process}.pid`)
    const record = JSON.parse(
      await readFile(path, 'utf8').catch(() => 'null'),
    ) as ProcessRecord | null
    return record && isAlive(record) ? record : null
  }
  return {
    name,
    dataDir,
    network,
    apiUrl: `http://127.0.0.1:${apiPort}`,
    processes,
    get failedStarts() {
      return failedStarts
    },
    find,
    expectEnd(pid) {
      if (pid === child.pid) killed.add(child)
    },
    async goAway(ms) {
      const inits = await findInits(dataDir)
      isAway = true
      // The supervisor first: it would start the others again.
      for (const process of ['supervisor', ...processes] as const) {
        const record = await find(process)
        if (record) sendSignal(record.pid, 'SIGKILL')
      }
      for (const pid of inits) sendSignal(pid, 'SIGKILL')
      await delay(ms)
      isAway = false
      child = launch()
    },
    isReady: async () => (await answers(apiPort)) && (await answers(gatewayPort)),
    readOutput: async () => (await readFile(logPath, 'utf8')).slice(-4000),
    async [Symbol.asyncDispose]() {
      isEnding = true
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, 'exit')
        child.kill('SIGTERM')
        await ended
      }
      closeSync(log)
      await removeEngine(dataDir, network)
    },
  }
}
