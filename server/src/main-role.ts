import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { readConfig, type Config } from './config.ts'
import { withDatabase } from './db/database.ts'
import { requireSchema } from './db/migrate.ts'
import type { Command } from './host/command.ts'
import { configuredDatabaseUrl } from './host/postgres.ts'
import { prepareDataDir, requireWholeRestore } from './host/data-folder.ts'
import { prepareHost } from './host/preparation.ts'
import { engineProgram, processEnvironment } from './host/programs.ts'
import { findServer, ServerRunsError } from './host/server-lock.ts'
import { withSettings } from './host/settings.ts'
import { openTerminal } from './host/terminal.ts'

/*
 * `computer role ROLE`: becomes one process of the server. It logs to its output, and whoever started it restarts it:
 * systemd, for example. `computer up` does the same for all roles of a host.
 */
const role = process.argv[2] ?? ''
const terminal = openTerminal()
try {
  const config = readConfig(withSettings(process.env))
  requireWholeRestore(config.dataDir)
  prepareDataDir(config.dataDir)
  const ownEnv = { COMPUTER_LOGS: 'stdout', ...processEnvironment() }
  const { argv, env = ownEnv } = await prepare(role, config)
  // A program's name is looked up in PATH by `env` alone.
  process.execve!('/usr/bin/env', ['env', ...argv], env)
} catch (error) {
  terminal.say(`computer: ${(error as Error).message}`)
  process.exitCode = 1
}

/** Makes what the role needs, and returns the command of its process. */
async function prepare(name: string, config: Config): Promise<Command> {
  if (name === 'engine') return prepareEngine(config)
  if (name === 'worker') await prepareWorker(config)
  return { argv: [process.execPath, fileURLToPath(new URL(`main-${name}.ts`, import.meta.url))] }
}

async function prepareEngine(config: Config): Promise<Command> {
  if (config.engine !== null)
    throw new Error('ENGINE_URL names an engine that others run: this host needs none of its own')
  requireAlone(config)
  const program = engineProgram(config)
  await program.prepare?.()
  return program.command()
}

async function prepareWorker(config: Config): Promise<void> {
  requireAlone(config)
  await withDatabase(configuredDatabaseUrl(config), pino({ level: 'warn' }), async (db) => {
    await requireSchema(db)
    await prepareHost(config, db, terminal)
  })
}

/** A host has one engine and one worker. */
function requireAlone({ dataDir }: Config): void {
  const server = findServer(dataDir)
  if (server) throw new ServerRunsError(server)
}
