import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { MachineDriver } from '../drivers/machine-driver.ts'
import { unmountEngine } from './engine-mounts.ts'
import { engineDirectory } from './engine.ts'
import { endLeftovers } from './leftovers.ts'
import { sendSignal } from './process-record.ts'
import { engineProgram } from './programs.ts'
import { findServer, isDataDirLocked } from './server-lock.ts'
import { stopAllMachines } from './stop-machines.ts'
import { Supervisor } from './supervisor.ts'
import type { Terminal } from './terminal.ts'

const stopTimeoutMs = 120_000

/** Ends the server that runs on a data folder, if there is one. Its machines keep running. */
export async function stopServer(dataDir: string, terminal: Terminal): Promise<void> {
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

/**
 * Shuts the machines down through the engine of a data folder, which it starts again for that, and unmounts their
 * disks. The caller has locked the folder. At `SIGPWR` the engine also removes its network when it ends. Resolves
 * to whether all machines are stopped; otherwise the engine has ended and the disks stay mounted.
 */
export async function stopEngineWithMachines(
  config: Config,
  connect: () => Promise<MachineDriver>,
  terminal: Terminal,
  stopSignal: 'SIGTERM' | 'SIGPWR' = 'SIGTERM',
): Promise<boolean> {
  const { dataDir } = config
  await endLeftovers(dataDir, terminal)
  if (!existsSync(engineDirectory(dataDir))) return true

  const folders = { runDir: join(dataDir, 'run'), logDir: join(dataDir, 'logs') }
  const supervisor = new Supervisor(folders, terminal)
  const engine = engineProgram(config)
  const command = () => ({ ...engine.command(), stopSignal })
  try {
    await supervisor.start([{ ...engine, command }], AbortSignal.timeout(stopTimeoutMs))
    await using driver = await connect()
    if ((await stopAllMachines(driver, terminal)) > 0) return false
  } finally {
    await supervisor.stop()
  }
  await unmountEngine(dataDir)
  return true
}
