import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { readConfig, type Config } from './config.ts'
import { engineDirectory } from './host/engine.ts'
import { withSettings } from './host/settings.ts'
import { lockDataDir } from './host/server-lock.ts'
import { stopEngineWithMachines, stopServer } from './host/shut-down.ts'
import { openTerminal, type Terminal } from './host/terminal.ts'
import { createDriver } from './process.ts'

/*
 * `computer down`: stops the server and its machines. It leaves the rows alone: the next server finds the
 * machines stopped, as after a power cut.
 */
const terminal = openTerminal()
try {
  process.exitCode = await stopEverything(readConfig(withSettings(process.env)), terminal)
} catch (error) {
  terminal.say(`computer: ${(error as Error).message}`)
  process.exitCode = 1
}

async function stopEverything(config: Config, terminal: Terminal): Promise<number> {
  const { dataDir } = config
  if (!existsSync(join(dataDir, 'run'))) {
    terminal.say(`no server was ever started in ${dataDir}`)
    return 0
  }
  await stopServer(dataDir, terminal)
  if (config.engine) {
    terminal.say('machines of an external engine keep running, because other servers may share it')
    return 0
  }
  using _ = lockDataDir(dataDir, { address: 'computer down' })
  const hadEngine = existsSync(engineDirectory(dataDir))
  const connect = () => createDriver(config, pino({ level: 'silent' }))
  if (!(await stopEngineWithMachines(config, connect, terminal))) return 1
  if (hadEngine) {
    terminal.say(`the server and its machines are stopped; all their data is in ${dataDir}`)
  }
  return 0
}
