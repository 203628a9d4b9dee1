import { pino } from 'pino'
import { z } from 'zod'
import { backUp, type BackupParts } from './backup/back-up.ts'
import { openBackupFolder, readBackups } from './backup/folder.ts'
import { openKeepers, readFromAnyHost } from './backup/open-hosts.ts'
import type { Backup } from './backup/index-file.ts'
import { describeBackup, summarize, tabulate } from './backup/report.ts'
import { readConfig, type Config } from './config.ts'
import { openDatabase } from './db/database.ts'
import { configuredDatabaseUrl } from './host/postgres.ts'
import { findServer } from './host/server-lock.ts'
import { withSettings } from './host/settings.ts'
import { openTerminal } from './host/terminal.ts'
import { createDriver, createHosts } from './process.ts'

/* `computer backup FOLDER` beside a server that runs, and `computer backups FOLDER` anywhere. */

const Request = z.discriminatedUnion('command', [
  z.strictObject({
    command: z.literal('backup'),
    folder: z.string(),
    json: z.boolean(),
    full: z.boolean(),
    keyring: z.boolean(),
    keep: z.number().int().min(1).nullable(),
  }),
  z.strictObject({ command: z.literal('list'), folder: z.string(), json: z.boolean() }),
])
type Request = z.infer<typeof Request>

/** A machine is frozen while its disk is kept, so the first Ctrl-C lets that end. */
const signal = stopSignal()

// Standard output is for the result alone.
const terminal = openTerminal(process.stderr)
try {
  await run(Request.parse(JSON.parse(process.argv[2] ?? '')))
} catch (error) {
  terminal.say(`computer: ${signal.aborted ? 'the backup was stopped' : (error as Error).message}`)
  process.exitCode = 1
}

async function run(request: Request): Promise<void> {
  if (request.command === 'list') {
    const { backups } = (await readBackups(request.folder)).index
    return print(request, backups.map(summarize), tabulate(backups))
  }
  const config = readConfig(withSettings(process.env))
  requireServer(config)
  using folder = await openBackupFolder(request.folder, config.dataDir)
  const backup = await withParts(config, folder.index.id, (parts) =>
    backUp(parts, folder, {
      isFull: request.full,
      withKeyring: request.keyring,
      keep: request.keep,
    }),
  )
  print(request, summarize(backup), describeBackup(backup, folder.path))
}

/** The server may end meanwhile; then the backup fails. */
function requireServer(config: Config): void {
  if (config.engine && 'url' in config.engine)
    throw new Error(
      'the machines are in an engine on another host (ENGINE_URL), whose disks this command cannot back up: use the tools of its storage',
    )
  if (!findServer(config.dataDir))
    throw new Error(`no server runs on ${config.dataDir}: start it with \`computer up\``)
}

async function withParts(
  config: Config,
  folderId: string,
  use: (parts: BackupParts) => Promise<Backup>,
): Promise<Backup> {
  const log = pino({ level: 'silent' })
  // A timer's mail needs no progress.
  const wait = process.stderr.isTTY ? terminal.wait : () => {}
  const databaseUrl = configuredDatabaseUrl(config)
  const db = openDatabase(databaseUrl, { log, maxConnections: 2 })
  try {
    await using driver = await createDriver(config, log)
    using hosts = createHosts(config, db, driver)
    await using keeper = await openKeepers({ db, config, hosts }, folderId)
    const readImage = readFromAnyHost({ db, config, hosts })
    return await use({ databaseUrl, db, keeper, readImage, config, wait, signal })
  } finally {
    await db.destroy()
  }
}

function stopSignal(): AbortSignal {
  const stopping = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => stopping.abort())
  }
  return stopping.signal
}

function print({ json }: Request, result: unknown, text: string): void {
  terminal.clear()
  process.stdout.write(json ? `${JSON.stringify(result, null, 2)}\n` : text)
}
