import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defaultDataDir } from '../../environment.ts'
import { engineBinary, engineCommand } from '../engine.ts'
import { findProcesses } from '../find-processes.ts'
import { isDataDirLocked } from '../server-lock.ts'
import { hostSystemd } from '../service/systemd.ts'
import { unitMark, unitName } from '../service/unit.ts'

/**
 * Signs that this host has another server than that of a data folder, each in words. The host has no list of
 * its data folders, so one that has neither a service nor the default place, and was not started since the
 * host was, is not found.
 */
export async function findOtherServers(
  dataDir: string,
  network: string,
  { unitDir } = hostSystemd,
): Promise<readonly string[]> {
  const found = await Promise.all([
    findEngines(dataDir),
    findBridges(network),
    findUnits(unitDir, unitName(dataDir)),
  ])
  return [...findDefaultFolder(dataDir), ...found.flat()]
}

function findDefaultFolder(dataDir: string): readonly string[] {
  if (dataDir === defaultDataDir) return []
  const isUsed =
    isDataDirLocked(defaultDataDir) || existsSync(join(defaultDataDir, 'run', 'server.lock'))
  return isUsed ? [`the data folder ${defaultDataDir}`] : []
}

/** Any other engine counts, and that of Debian too: its machines also see lxcfs and use the ids of root. */
async function findEngines(dataDir: string): Promise<readonly string[]> {
  const own = engineCommand(dataDir).args.join('\0')
  const pids = await findProcesses(
    ([program, ...args]) =>
      program === engineBinary && args.includes('--logfile') && args.join('\0') !== own,
    (path) => path.startsWith(engineBinary),
  )
  return pids.map((pid) => `the engine with process ${pid}`)
}

/** The bridges of networkName (process.ts). They stay until the host restarts. */
async function findBridges(network: string): Promise<readonly string[]> {
  const links = await readdir('/sys/class/net')
  const bridges = links.filter((name) => /^(computer0|cmp[0-9a-f]{10})$/.test(name))
  return bridges.filter((name) => name !== network).map((name) => `the bridge ${name}`)
}

async function findUnits(unitDir: string, own: string): Promise<readonly string[]> {
  const names = await readdir(unitDir).catch(() => [])
  const units: string[] = []
  for (const name of names) {
    if (name === own || !/^computer(-.*)?\.service$/.test(name)) continue
    const text = await readFile(join(unitDir, name), 'utf8').catch(() => '')
    if (text.startsWith(unitMark)) units.push(`the service ${name}`)
  }
  return units
}
