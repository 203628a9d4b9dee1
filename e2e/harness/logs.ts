import { existsSync } from 'node:fs'
import { cp, mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'

/**
 * Copies the logs of a server or an engine to the folder COMPUTER_TEST_LOGS, before its data folder is
 * removed. `npm test` sets that folder for each test file, and keeps it when the file fails.
 */
export async function keepServerLogs(dataDir: string, logDir = process.env['COMPUTER_TEST_LOGS']) {
  if (logDir === undefined) return
  const folder = join(logDir, basename(dataDir))
  for (const path of ['logs', 'engine/logs', 'daemon.log', 'supervisor.log']) {
    const from = join(dataDir, path)
    if (!existsSync(from)) continue
    await mkdir(folder, { recursive: true })
    await cp(from, join(folder, path.replace('/', '-')), { recursive: true })
  }
}
