import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import pg from 'pg'
import { waitReady } from '../src/db/readiness.ts'
import {
  databaseUrl,
  ensureCluster,
  postgresCommand,
  findPostmaster,
} from '../src/host/postgres.ts'

test('committed rows survive the death of the server', async (t) => {
  const dataDir = await temporaryFolder(t, 'data')
  await ensureCluster(dataDir)

  const first = await start(t, dataDir)
  await query(dataDir, 'create table kept (n integer)')
  await query(dataDir, 'insert into kept values (7)')
  assert.equal(await findPostmaster(dataDir), first.pid)
  first.kill('SIGKILL')
  await once(first, 'close')

  await ensureCluster(dataDir)
  await start(t, dataDir)
  assert.deepEqual(await query(dataDir, 'select n from kept'), [{ n: 7 }])
  assert.deepEqual(await query(dataDir, 'show fsync'), [{ fsync: 'on' }])
})

test('an incomplete cluster is deleted and created again', async (t) => {
  const dataDir = await temporaryFolder(t, 'data')
  await mkdir(join(dataDir, 'postgres.new-1'), { recursive: true })
  await writeFile(join(dataDir, 'postgres.new-1', 'PG_VERSION'), '18\n')
  await ensureCluster(dataDir, { isDurable: false })
  assert.deepEqual((await readdir(dataDir)).sort(), ['postgres', 'run'])
})

test('a data folder with too long a path for a socket still works', async (t) => {
  const dataDir = await temporaryFolder(t, 'd'.repeat(120))
  await ensureCluster(dataDir, { isDurable: false })
  await start(t, dataDir)
  assert.deepEqual(await query(dataDir, 'select 1 as one'), [{ one: 1 }])
  const host = new URL(databaseUrl(dataDir)).searchParams.get('host')!
  t.after(() => rm(host, { recursive: true }))
})

async function temporaryFolder(t: TestContext, name: string): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'computer-host-'))
  t.after(() => rm(parent, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))
  return join(parent, name)
}

async function start(t: TestContext, dataDir: string) {
  const { argv } = postgresCommand(dataDir)
  // A server that was just killed may leave children that hold its memory for a moment.
  for (let attempt = 1; ; attempt += 1) {
    const child = spawn(argv[0]!, argv.slice(1), { stdio: 'ignore' })
    const ended = once(child, 'close')
    const given = new AbortController()
    const isUp = await Promise.race([
      waitReady(databaseUrl(dataDir), given.signal).then(() => true),
      ended.then(() => false),
    ])
    if (isUp) {
      t.after(async () => {
        child.kill('SIGINT')
        await ended
      })
      return child
    }
    given.abort()
    assert.ok(attempt < 20, 'the server does not start')
  }
}

async function query(dataDir: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: databaseUrl(dataDir) })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}
