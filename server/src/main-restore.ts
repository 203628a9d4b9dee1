import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { z } from 'zod'
import { readBackups } from './backup/folder.ts'
import { summarize } from './backup/report.ts'
import {
  restoreDatabase,
  restoreDisks,
  restoreFiles,
  restoreKeyring,
  type Source,
} from './backup/restore.ts'
import { findBackup } from './backup/retention.ts'
import { readConfig, type Config } from './config.ts'
import { withDatabase } from './db/database.ts'
import { requireEmptyDatabase, requireKnownSchema } from './db/load.ts'
import {
  markFinished,
  markUnfinished,
  prepareDataDir,
  requireEmptyDataDir,
} from './host/data-folder.ts'
import { requireHealthyHost } from './host/doctor/diagnose.ts'
import { unmountEngine } from './host/engine-mounts.ts'
import { engineDirectory } from './host/engine.ts'
import { buildGuestBundle } from './host/first-start.ts'
import { configuredDatabaseUrl } from './host/postgres.ts'
import { engineProgram, postgresProgram } from './host/programs.ts'
import { lockDataDir } from './host/server-lock.ts'
import { withSettings } from './host/settings.ts'
import { watchStopSignals } from './host/stop-signals.ts'
import { Supervisor } from './host/supervisor.ts'
import { openTerminal } from './host/terminal.ts'
import { createDriver } from './process.ts'

/*
 * `computer restore FOLDER`: makes the server of a backup in an empty data folder. `computer up` then starts it. A
 * restore that breaks off leaves a mark, and neither is taken for a server nor gone on with.
 */
const Request = z.strictObject({
  folder: z.string(),
  backup: z.string().optional(),
  json: z.boolean(),
})

// Standard output is for the result alone.
const terminal = openTerminal(process.stderr)
try {
  const request = Request.parse(JSON.parse(process.argv[2] ?? ''))
  const { path, index } = await readBackups(request.folder)
  const source = { path, index, backup: findBackup(index, request.backup) }
  const config = await restoreServer(source)
  terminal.clear()
  const text = `backup ${source.backup.id} is restored to ${config.dataDir}; start the server: computer up`
  console.log(request.json ? JSON.stringify(summarize(source.backup), null, 2) : text)
} catch (error) {
  terminal.say(`computer: ${(error as Error).message}`)
  process.exitCode = 1
}

async function restoreServer(source: Source): Promise<Config> {
  const given = readConfig(withSettings(process.env))
  const { dataDir } = given
  requireEmptyDataDir(dataDir)
  await requireKnownSchema(source.backup.migrations)
  prepareDataDir(dataDir)
  using _ = lockDataDir(dataDir, { address: 'computer restore' })
  await markUnfinished(dataDir)
  await restoreFiles(source, { dataDir })
  // With the settings that were restored.
  const config = readConfig(withSettings(process.env))
  requireFit(config, given, source)
  if (!(await restoreKeyring(source, config)))
    terminal.say(
      `the backup has no keyring: put a copy of it at ${config.keyringPath} before the start`,
    )
  const folders = { runDir: join(dataDir, 'run'), logDir: join(dataDir, 'logs') }
  const supervisor = new Supervisor(folders, terminal)
  const stop = watchStopSignals(terminal, () => supervisor.kill())
  try {
    const stopped = await fill(config, source, supervisor, stop.signal)
    if (stopped > 0)
      terminal.say(
        `${stopped} machines that ran on other hosts are stopped, because this host has no memory for them`,
      )
    await markFinished(dataDir)
  } finally {
    await supervisor.stop()
    stop.dispose()
    if (existsSync(engineDirectory(dataDir))) await unmountEngine(dataDir)
  }
  for (const id of source.backup.missing) terminal.say(`the backup has no disk of ${id}`)
  return config
}

/** The settings are those of the backup, except those that were given on this host. */
function requireFit(config: Config, given: Config, { backup }: Source): void {
  if (config.engine)
    throw new Error(
      'a backup is restored to a private engine: leave out ENGINE_URL and COMPUTER_ENGINE_DIR, in a computer.env of your own if the backup has one of them',
    )
  // A first start formats the device.
  if (config.poolSource !== given.poolSource)
    throw new Error(
      `the settings of the backup put the disks on ${config.poolSource}, which would be formatted: set COMPUTER_POOL_SOURCE to a device of this host, remove ${config.dataDir}, and restore again`,
    )
  if (config.host !== backup.host)
    throw new Error(
      `the machines of the backup are recorded under ${backup.host}: set COMPUTER_HOST=${backup.host}, remove ${config.dataDir}, and restore again`,
    )
}

async function fill(
  config: Config,
  source: Source,
  supervisor: Supervisor,
  signal: AbortSignal,
): Promise<number> {
  const wait = (text: string) => {
    if (signal.aborted) throw new Error('the restore was stopped')
    if (process.stderr.isTTY) terminal.wait(text)
  }
  await requireHealthyHost(config, terminal)
  const url = configuredDatabaseUrl(config)
  if (config.databaseUrl === null) await supervisor.start([postgresProgram(config)], signal)
  await requireEmptyDatabase(url)
  await restoreDatabase(source, url, wait)
  await buildGuestBundle(config)
  await supervisor.start([engineProgram(config)], signal)
  const log = pino({ level: 'silent' })
  await using driver = await createDriver(config, log)
  return await withDatabase(url, log, (db) => restoreDisks({ db, driver, config, wait }, source))
}
