import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import { backUp } from '../src/backup/back-up.ts'
import { openBackupFolder } from '../src/backup/folder.ts'
import { openKeepers, readFromAnyHost } from '../src/backup/open-hosts.ts'
import { restoreDatabase, restoreDisks } from '../src/backup/restore.ts'
import type { App } from '../src/app.ts'
import { drainHost, undrainHost } from '../src/domain/hosts/states.ts'
import { listHosts } from '../src/domain/hosts/hosts.ts'
import { callWith } from './call.ts'
import { onDisksOf } from './disks.ts'
import { startTestServer, type Lifetime, type TestServer } from './harness.ts'
import { bothReady, createOn, hostOf, onlyOn, runIn, setHost } from './hosts.ts'
import { eventually } from './settled.ts'

/*
 * A backup of a server with two hosts, one of them about to lose a machine to the other, and the server that one host makes
 * of it.
 */

const other = 'host-2'
const server = await startTestServer({ after }, { otherHosts: [other], plan: 'startup' })
const path = await mkdtemp(join(tmpdir(), 'computer-hosts-'))
after(() => rm(path, { recursive: true }))
await bothReady(server)

const here = await createOn(server, 'local')
await runIn(server, here, 'echo first > mark')
const { id: snapshotId } = await onDisksOf(server).snapshot(here)
const { body: template } = await server.call('POST', '/v1/templates', {
  name: 'everywhere',
  snapshot_id: snapshotId,
})
const { body: machine } = await onlyOn(server, other, () =>
  server.call('POST', '/v1/machines', { template: template.id }),
)
const there: string = machine.id
let third = ''
await onDisksOf(server).machineIn(there, 'running')
await runIn(server, there, 'echo second > mark')

test('the disks of both hosts are in the backup, also of a machine that is being sent', async () => {
  const { controls } = server.engine
  const [copied, copiedAgain] = [1, 2].map(() => controls.hangNext('receiveCapture'))
  await drainHost(server.app.db, other)
  await copied!.reached
  copied!.release()
  await copiedAgain!.reached
  assert.equal((await findMachine(server, there)).state, 'stopping')
  const backup = await backUpTo(server.app)
  assert.deepEqual(backup.missing, [])
  assert.deepEqual(backup.machines.map(({ id }) => id).sort(), [here, there].sort())
  copiedAgain!.release()
  await onDisksOf(server).machineIn(there, 'running')
  assert.equal(await hostOf(server, there), 'local')
})

test('one host makes the server of it, with all machines and templates', async (t) => {
  const { restored, stopped } = await restore(t)
  assert.equal(stopped, 0)
  const { db, driver } = restored.app
  const hosts = await listHosts(db)
  assert.deepEqual(
    hosts.map(({ name, state }) => [name, state]),
    [
      [other, 'removed'],
      ['local', 'ready'],
    ],
  )
  restored.startWorker()
  for (const [id, mark] of [
    [here, 'first\n'],
    [there, 'second\n'],
  ] as const) {
    assert.equal(await readMark(restored, id), mark)
    assert.equal(await hostOf(restored, id), 'local')
  }
  const { body } = await restored.call('POST', '/v1/machines', { template: template.id })
  await onDisksOf(restored).machineIn(body.id, 'running')
  assert.equal(await runIn(restored, body.id, 'cat mark'), 'first\n')
  // Nothing is left of the relocation.
  assert.deepEqual(await db.selectFrom('relocations').selectAll().execute(), [])
  await eventually(async () => (await driver.listCaptures()).length === 1 || undefined)
  const copies = await db.selectFrom('capture_copies').select(['host', 'state']).execute()
  assert.deepEqual(copies, [{ host: 'local', state: 'ready' }])
})

test('a machine of another host is stopped if there is no memory for it', async (t) => {
  await undrainHost(server.app.db, other)
  third = await createOn(server, other)
  await runIn(server, third, 'echo third > mark')
  const failure = { message: 'the pool is away', times: 1 }
  server.engineOf(other).controls.failNext('openKeeper', failure)
  await assert.rejects(backUpTo(server.app), /^Error: host host-2: the pool is away$/)
  await backUpTo(server.app)
  const { restored, stopped } = await restore(t, { machines: 2 })
  assert.equal(stopped, 1)
  restored.startWorker()
  assert.equal(await readMark(restored, here), 'first\n')
  assert.equal(await readMark(restored, there), 'second\n')
  assert.equal((await findMachine(restored, third)).state, 'stopped')
  restored.engine.controls.setAvailableMemory(1024 ** 4)
  await onDisksOf(restored).move(third, 'start')
  assert.equal(await readMark(restored, third), 'third\n')
})

test('a host that does not answer is named, and no backup is made without it', async () => {
  await server.stopWorkers()
  await setHost(server, other, { unhealthy_reason: 'the host does not answer' })
  await assert.rejects(
    backUpTo(server.app),
    /host host-2 is unhealthy .*computer hosts lost host-2/,
  )
  await setHost(server, other, { state: 'lost' })
  assert.deepEqual((await backUpTo(server.app)).missing, [third])
})

async function backUpTo({ db, config, hosts }: App) {
  using folder = await openBackupFolder(path, '/nonexistent')
  await using keeper = await openKeepers({ db, config, hosts }, folder.index.id)
  const parts = {
    databaseUrl: server.databaseUrl,
    db,
    keeper,
    readImage: readFromAnyHost({ db, config, hosts }),
    config: { ...config, dataDir: path },
    wait: () => {},
    signal: new AbortController().signal,
  }
  return backUp(parts, folder, { isFull: false, withKeyring: false, keep: null })
}

/** Restores the last backup to another database and engine, which has memory for that many machines. */
async function restore(t: Lifetime, memory: { readonly machines?: number } = {}) {
  using folder = await openBackupFolder(path, '/nonexistent')
  const source = { path, index: folder.index, backup: folder.index.backups.at(-1)! }
  const prepare = async (url: string) => {
    await empty(url)
    await restoreDatabase(source, url, () => {})
  }
  const started = await startTestServer(t, { worker: false, prepare })
  const { app, engine, http } = started
  if (memory.machines !== undefined) {
    // Beside the host's own share of a tebibyte.
    const bytes = Math.round(0.05 * 1024 ** 4) + (memory.machines + 0.5) * 256 * 1024 ** 2
    engine.controls.setAvailableMemory(bytes)
  }
  const { db, driver, config } = app
  const stopped = await restoreDisks({ db, driver, config, wait: () => {} }, source)
  const call = callWith(http, { authorization: `Bearer ${server.key}` })
  return { restored: { ...started, call }, stopped }
}

async function findMachine({ call }: TestServer, id: string) {
  return (await call('GET', `/v1/machines/${id}`)).body
}

/** Until the machine runs again, the call is refused. */
async function readMark({ call }: TestServer, id: string): Promise<string> {
  return eventually(async () => {
    const command = { command: ['cat', 'mark'] }
    const { status, body } = await call('POST', `/v1/machines/${id}/exec`, command)
    return status === 200 ? body.stdout : undefined
  })
}

async function empty(url: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('drop schema public cascade; create schema public')
  await client.end()
}
