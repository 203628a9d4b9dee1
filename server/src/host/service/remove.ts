import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { hostSystemd, isInit, systemctl, type Systemd } from './systemd.ts'
import { unitMark, unitName } from './unit.ts'

/**
 * Stops and removes the service of a data folder. Resolves to the path of its unit, or null if there was none.
 * Throws if somebody else wrote the unit.
 */
export async function removeService(
  dataDir: string,
  systemd: Systemd = hostSystemd,
): Promise<string | null> {
  const unit = unitName(dataDir)
  const path = join(systemd.unitDir, unit)
  if (!existsSync(path)) return null
  if (!(await readFile(path, 'utf8')).startsWith(unitMark)) {
    throw new Error(
      `${path} was not written by \`computer install-service\`: disable and remove it, then run this again`,
    )
  }
  if (isInit(systemd)) await systemctl('disable', '--now', unit)
  await rm(path)
  if (isInit(systemd)) await systemctl('daemon-reload')
  return path
}
