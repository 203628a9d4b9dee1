import { existsSync } from 'node:fs'
import type { Config } from '../../config.ts'
import type { MachineDriver } from '../../drivers/machine-driver.ts'
import { killNameServers } from '../engine-dnsmasq.ts'
import { endLeftovers } from '../leftovers.ts'
import { lockDataDir } from '../server-lock.ts'
import { removeService } from '../service/remove.ts'
import { stopEngineWithMachines, stopServer } from '../shut-down.ts'
import type { Terminal } from '../terminal.ts'
import { isDataFolder, removeDataFolder } from './data-folder.ts'
import { removeNetwork } from './network.ts'
import { findOtherServers } from './other-servers.ts'
import { listRemains } from './remains.ts'
import { removeShared } from './shared.ts'

/*
 * `computer uninstall` removes a server from its host. Each step can be repeated, so a run that broke off is
 * completed by the next one. What another server of the host uses stays.
 */

/** The engine of a data folder: its bridge, and the way to its machines. */
export type OwnEngine = {
  readonly network: string
  readonly connect: () => Promise<MachineDriver>
}

export async function uninstall(
  config: Config,
  engine: OwnEngine,
  terminal: Terminal,
  { keepsData }: { readonly keepsData: boolean },
): Promise<void> {
  const { dataDir } = config
  const unit = await removeService(dataDir)
  if (unit !== null) terminal.say(`removed ${unit}`)
  if (isDataFolder(dataDir)) {
    await stopServer(dataDir, terminal)
    using _ = lockDataDir(dataDir, { address: 'computer uninstall' })
    await removeEngine(config, engine, terminal)
    if (!keepsData) await removeData(dataDir, terminal)
  } else if (!keepsData && existsSync(dataDir)) {
    await removeData(dataDir, terminal)
  }

  const others = await findOtherServers(dataDir, engine.network)
  if (others.length === 0) {
    for (const what of await removeShared()) terminal.say(`removed ${what}`)
  } else {
    terminal.say(
      `left lxcfs, the ids of root and the command \`computer\` to another server of this host: ${others.join(', ')}`,
    )
  }
  if (keepsData) terminal.say(`left the data folder ${dataDir}`)
  for (const what of listRemains(config)) terminal.say(`left ${what}`)
}

async function removeEngine(config: Config, engine: OwnEngine, terminal: Terminal): Promise<void> {
  if (config.engine !== null) return endLeftovers(config.dataDir, terminal)
  if (!(await stopEngineWithMachines(config, engine.connect, terminal, 'SIGPWR'))) {
    throw new Error(
      'some machines do not stop, so their disks stay: see above, then run this again',
    )
  }
  await killNameServers(config.dataDir)
  await removeNetwork(engine.network)
  terminal.say(`removed the network ${engine.network} with its rules, and the mounts of the engine`)
}

async function removeData(dataDir: string, terminal: Terminal): Promise<void> {
  const others = await removeDataFolder(dataDir)
  if (others.length === 0) return terminal.say(`removed ${dataDir}`)
  const shown = others.length > 3 ? [...others.slice(0, 3), '…'] : others
  terminal.say(`left ${dataDir}, which has files that are not the server's: ${shown.join(', ')}`)
}
