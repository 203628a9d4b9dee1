import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { findServer, isDataDirLocked, lockDataDir } from '../src/host/server-lock.ts'

test('a second start fails with the server that runs, also in the same process', async (t) => {
  const dataDir = await temporaryFolder(t)
  const addresses = { address: 'http://127.0.0.1:1', dashboardUrl: 'https://computer.example.com' }
  assert.equal(findServer(dataDir), null)
  const lock = lockDataDir(dataDir, addresses)
  const server = { pid: process.pid, ...addresses }
  assert.deepEqual(findServer(dataDir), server)
  assert.throws(() => lockDataDir(dataDir, { address: 'other' }), {
    name: 'ServerRunsError',
    server,
  })
  lock[Symbol.dispose]()
  assert.equal(findServer(dataDir), null)
  lockDataDir(dataDir, { address: 'other' })[Symbol.dispose]()
})

test('the lock of a killed server is free at once', async (t) => {
  const dataDir = await temporaryFolder(t)
  const holder = await holdLock(dataDir)
  assert.equal(findServer(dataDir)?.pid, holder.pid)
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  assert.equal(findServer(dataDir), null)
  lockDataDir(dataDir, { address: 'next' })[Symbol.dispose]()
})

test('of many concurrent starts, one gets the lock', async (t) => {
  const dataDir = await temporaryFolder(t)
  const starts = await Promise.allSettled(Array.from({ length: 5 }, () => holdLock(dataDir)))
  const winners = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []))
  for (const winner of winners) winner.kill('SIGKILL')
  assert.equal(winners.length, 1)
})

test('a server that ends keeps the folder locked until its lock is released', async (t) => {
  const dataDir = await temporaryFolder(t)
  const lock = lockDataDir(dataDir, { address: 'ending' })
  // It empties the file first.
  await truncate(join(dataDir, 'run', 'server.lock'))
  assert.equal(findServer(dataDir), null)
  assert.equal(isDataDirLocked(dataDir), true)
  lock[Symbol.dispose]()
  assert.equal(isDataDirLocked(dataDir), false)
})

test('a start waits for those who only ask whether a server runs', async (t) => {
  const dataDir = await temporaryFolder(t)
  lockDataDir(dataDir, { address: 'earlier' })[Symbol.dispose]()
  const path = join(dataDir, 'run', 'server.lock')
  const asking = spawn('flock', ['--shared', path, '-c', 'echo asks; sleep 0.2'])
  await once(asking.stdout, 'data')
  lockDataDir(dataDir, { address: 'next' })[Symbol.dispose]()
})

async function temporaryFolder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'computer-lock-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}

/** Another process that takes the lock and keeps it; rejects if it does not get the lock. */
async function holdLock(dataDir: string) {
  const module = join(import.meta.dirname, '..', 'src', 'host', 'server-lock.ts')
  const script = `
    const { lockDataDir } = await import(${JSON.stringify(module)})
    lockDataDir(${JSON.stringify(dataDir)}, { address: 'held' })
    console.log('held')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const held = once(child.stdout, 'data').then(() => true)
  const lost = once(child, 'exit').then(() => false)
  if (await Promise.race([held, lost])) return child
  throw new Error('lost')
}
