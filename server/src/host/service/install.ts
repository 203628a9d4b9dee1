import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../../replace-file.ts'
import { findServer, isDataDirLocked } from '../server-lock.ts'
import { settingsPath } from '../settings.ts'
import type { Terminal } from '../terminal.ts'
import { findMainProcess, hostSystemd, isInit, systemctl, type Systemd } from './systemd.ts'
import { describeUnit, unitMark, unitName } from './unit.ts'

/**
 * Makes the server of a data folder a service of systemd, and starts it. A repeated call writes the unit only
 * if it has changed, and never restarts a server.
 */
export async function installService(
  { launcher, dataDir }: { readonly launcher: string; readonly dataDir: string },
  terminal: Pick<Terminal, 'say'>,
  systemd: Systemd = hostSystemd,
): Promise<void> {
  if (!isInit(systemd)) {
    throw new Error(
      'systemd is not the init of this host, so there is nothing to install: start `computer up` with the init of the host (--print prints the unit)',
    )
  }
  if (process.getuid?.() !== 0) throw new Error('only root can install a service: run it with sudo')
  const unit = unitName(dataDir)
  const text = describeUnit(launcher, dataDir)
  await refuseOtherServer(dataDir, unit)
  const change = await writeUnit(join(systemd.unitDir, unit), text, dataDir)
  terminal.say(change.line)

  await systemctl('daemon-reload')
  await systemctl('enable', unit)
  terminal.say(`enabled ${unit}: it starts with the host`)
  if ((await findMainProcess(unit)) === null) {
    await systemctl('start', unit)
    terminal.say(`started ${unit}`)
  } else if (change.isChanged) {
    terminal.say(`${unit} runs as before; \`systemctl restart ${quoted(unit)}\` applies the change`)
  } else {
    terminal.say(`${unit} is running`)
  }
  terminal.say(`settings: ${settingsPath(dataDir)}, then systemctl restart ${quoted(unit)}`)
  terminal.say(`messages: journalctl --follow --unit ${quoted(unit)}`)
}

/** A second server on the data folder would fail at each start. */
async function refuseOtherServer(dataDir: string, unit: string): Promise<void> {
  if (!isDataDirLocked(dataDir)) return
  const server = findServer(dataDir)
  if (server !== null && server.pid === (await findMainProcess(unit))) return
  const found = server === null ? 'a server' : `a server (process ${server.pid})`
  throw new Error(
    `${found} that ${unit} has not started runs on ${dataDir}: stop it with Ctrl-C in its terminal (its machines keep running), then run this again`,
  )
}

async function writeUnit(path: string, text: string, dataDir: string) {
  const before = await readFile(path, 'utf8').catch(() => null)
  if (before === text) return { isChanged: false, line: `${path} is up to date` }
  if (before !== null && !before.startsWith(unitMark)) {
    throw new Error(
      `${path} was not written by this command: move the settings in its Environment= lines to ${settingsPath(dataDir)}, remove the file, and run this again`,
    )
  }
  await replaceFile(path, text, { isDurable: true, mode: 0o644 })
  return { isChanged: true, line: `${before === null ? 'wrote' : 'changed'} ${path}` }
}

/** Names of units have backslashes where the path of a data folder has a character of another kind. */
function quoted(unit: string): string {
  return unit.includes('\\') ? `'${unit}'` : unit
}
