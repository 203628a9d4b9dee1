import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdtemp, readdir, rm, stat, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { waitReady } from '../src/db/readiness.ts'
import {
  databaseUrl,
  ensureCluster,
  findPostmaster,
  postgresCommand,
} from '../src/host/postgres.ts'

export type TestPostgres = {
  url(database: string): string
  /** Copies `template`, which must have no connections. */
  createDatabase(name: string, template?: string): Promise<void>
  /** Ends the connections to a database and removes it. */
  dropDatabase(name: string): Promise<void>
  stop(): Promise<void>
}

/**
 * A Postgres for tests. A run of many files shares the server at COMPUTER_TEST_DATABASE_URL; a file
 * that is run alone starts its own in a temporary folder, which ends with the process.
 */
export async function startTestPostgres(): Promise<TestPostgres> {
  const shared = process.env['COMPUTER_TEST_DATABASE_URL']
  if (shared) return useServer(shared, async () => {})

  const dataDir = await mkdtemp(join(await roomyFolder(), 'computer-pg-'))
  await ensureCluster(dataDir, { isDurable: false })
  const { argv } = postgresCommand(dataDir, {
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    autovacuum: 'off',
    wal_level: 'minimal',
    max_wal_senders: '0',
    max_wal_size: '256MB',
    wal_init_zero: 'off',
    jit: 'off',
  })
  // Ends with this process, even when it is killed, so no test run leaves a server behind.
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...argv], { stdio: 'ignore' })
  const ended = new Promise<void>((done) => child.once('close', () => done()))
  const remove = () => {
    child.kill('SIGKILL')
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 25 })
  }
  process.once('exit', remove)
  child.unref()

  const url = databaseUrl(dataDir, 'postgres')
  await waitReady(url, AbortSignal.timeout(60_000))
  return useServer(url, async () => {
    process.removeListener('exit', remove)
    child.ref()
    child.kill('SIGINT')
    await ended
    remove()
  })
}

/** Memory where there is enough of it: a run makes and drops a database of 500 files for most tests. */
async function roomyFolder(): Promise<string> {
  const memory = '/dev/shm'
  const room = await statfs(memory).catch(() => undefined)
  if (room) await removeAbandoned(memory)
  const isRoomy = room !== undefined && room.bavail * room.bsize >= 4 * 2 ** 30
  return isRoomy ? memory : tmpdir()
}

/** Nothing removes the folder of a killed run but the next run, and a cluster is made within ten minutes. */
async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith('computer-pg-')) continue
    const path = join(folder, name)
    const info = await stat(path).catch(() => undefined)
    const isNew = info === undefined || Date.now() - info.mtimeMs < 600_000
    if (isNew || (await findPostmaster(path)) !== null) continue
    await rm(path, { recursive: true, force: true })
  }
}

function useServer(adminUrl: string, stop: () => Promise<void>): TestPostgres {
  return {
    stop,
    url(database) {
      const url = new URL(adminUrl)
      url.pathname = `/${database}`
      return url.href
    },
    createDatabase: (name, template = 'template1') =>
      withAdmin((client) => createFrom(client, name, template)),
    async dropDatabase(name) {
      await withAdmin(async (client) => {
        await client.query(`drop database ${client.escapeIdentifier(name)} with (force)`)
      })
    },
  }
  async function withAdmin(work: (client: pg.Client) => Promise<void>): Promise<void> {
    const client = new pg.Client({ connectionString: adminUrl })
    await client.connect()
    try {
      await work(client)
    } finally {
      await client.end()
    }
  }
}

/** A template's last session may still be closing in the server, so "in use" is tried again. */
async function createFrom(client: pg.Client, name: string, template: string): Promise<void> {
  const [quoted, from] = [client.escapeIdentifier(name), client.escapeIdentifier(template)]
  for (let attempt = 1; ; attempt += 1) {
    try {
      // In memory, copying files takes a third of the work of writing all pages to the log.
      await client.query(`create database ${quoted} template ${from} strategy file_copy`)
      return
    } catch (error) {
      const inUse = error instanceof pg.DatabaseError && error.code === '55006'
      if (!inUse || attempt === 100) throw error
    }
    await delay(50)
  }
}
