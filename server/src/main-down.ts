import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pino } from 'pino'
import { readConfig, type Config } from './config.ts'
import { unmountEngine } from './host/engine-mounts.ts'
import { engineDirectory } from './host/engine.ts'
import { endLeftovers } from './host/leftovers.ts'
import { sendSignal } from './host/process-record.ts'
import { engineProgram } from './host/programs.ts'
import { withSettings } from './host/settings.ts'
import { findServer, isDataDirLocked, lockDataDir } from './host/server-lock.ts'
import { stopAllMachines } from './host/stop-machines.ts'
import { Supervisor } from './host/supervisor.ts'
import { openTerminal, type Terminal } from './host/terminal.ts'
import { createDriver } from './process.ts'

/*
 * `computer down`: stops the server, then shuts the machines down through the engine, which it starts
 * again for that, and unmounts their disks. It leaves the rows alone: the next server finds the machines
 * stopped, as after a power cut.
 */
const stopTimeoutMs = 120_000
const terminal = openTerminal()
try {
  process.exitCode = await stopEverything(readConfig(withSettings(process.env)), terminal)
} catch (error) {
  terminal.say(`computer: ${(error as Error).message}`)
  process.exitCode = 1
}

async function stopEverything(config: Config, terminal: Terminal): Promise<number> {
  if (!existsSync(join(config.dataDir, 'run'))) {
    terminal.say(`no server was ever started in ${config.dataDir}`)
    return 0
  }
  await stopServer(config.dataDir, terminal)
  if (config.engine) {
    terminal.say('machines of an external engine keep running, because other servers may share it')
    return 0
  }
  using _ = lockDataDir(config.dataDir, { address: 'computer down' })
  await endLeftovers(config.dataDir, terminal)
  if (!existsSync(engineDirectory(config.dataDir))) return 0

  const folders = { runDir: join(config.dataDir, 'run'), logDir: join(config.dataDir, 'logs') }
  const supervisor = new Supervisor(folders, terminal)
  try {
    await supervisor.start([engineProgram(config)], AbortSignal.timeout(stopTimeoutMs))
    await using driver = await createDriver(config, pino({ level: 'silent' }))
    if ((await stopAllMachines(driver, terminal)) > 0) return 1
  } finally {
    await supervisor.stop()
  }
  await unmountEngine(config.dataDir)
  terminal.say(`the server and its machines are stopped; all their data is in ${config.dataDir}`)
  return 0
}

async function stopServer(dataDir: string, terminal: Terminal): Promise<void> {
  const server = findServer(dataDir)
  if (!server) return
  terminal.wait(`stopping the server (process ${server.pid})`)
  sendSignal(server.pid, 'SIGTERM')
  const deadline = performance.now() + stopTimeoutMs
  while (isDataDirLocked(dataDir)) {
    if (performance.now() > deadline) {
      throw new Error(`the server (process ${server.pid}) does not stop; see ${dataDir}/logs`)
    }
    await delay(100)
  }
  terminal.say('the server has stopped')
}
