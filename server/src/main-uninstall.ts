import { pino } from 'pino'
import { readConfig } from './config.ts'
import { withSettings } from './host/settings.ts'
import { openTerminal } from './host/terminal.ts'
import { confirmRemoval } from './host/uninstall/confirm.ts'
import { isDataFolder } from './host/uninstall/data-folder.ts'
import { uninstall } from './host/uninstall/uninstall.ts'
import { createDriver, networkName } from './process.ts'

/** `computer uninstall`: removes the server from this host. */
const terminal = openTerminal()
try {
  process.exitCode = await run(process.argv.slice(2))
} catch (error) {
  console.error(`computer: ${(error as Error).message}`)
  process.exitCode = 1
}

async function run(options: readonly string[]): Promise<number> {
  if (process.getuid?.() !== 0)
    throw new Error('only root can uninstall the server: run it with sudo')
  const config = readConfig(withSettings(process.env))
  const { dataDir } = config
  const keepsData = options.includes('--keep-data')
  const mustAsk = !keepsData && !options.includes('--yes') && isDataFolder(dataDir)
  if (mustAsk && !(await confirmRemoval(dataDir))) {
    console.error('Canceled; nothing was changed.')
    return 1
  }
  const connect = () => createDriver(config, pino({ level: 'silent' }))
  await uninstall(config, { network: networkName(dataDir), connect }, terminal, { keepsData })
  return 0
}
