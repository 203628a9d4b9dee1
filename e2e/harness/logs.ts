import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Copies the logs of a server or an engine, and the configurations with which the engine started machines, to the
 * folder COMPUTER_TEST_LOGS, before its data folder is removed. `npm test` sets that folder for each test file, and
 * keeps it when the file fails.
 */
export async function keepServerLogs(dataDir: string, logDir = process.env['COMPUTER_TEST_LOGS']) {
  if (logDir === undefined) return
  const folder = join(logDir, basename(dataDir))
  for (const path of ['logs', 'engine/logs', 'engine/run', 'daemon.log', 'supervisor.log']) {
    const from = join(dataDir, path)
    if (!existsSync(from)) continue
    await mkdir(folder, { recursive: true })
    const to = join(folder, path.replace('/', '-'))
    // `cp` skips a log that its service removes meanwhile. `-T` copies into a folder that exists.
    await run('cp', ['-rT', from, to]).catch(() => {})
  }
}
