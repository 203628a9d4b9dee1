import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import type { BackupIndex } from '../server/src/backup/index-file.ts'
import { poolFolder } from '../server/src/drivers/incus/disks/host-pool.ts'
import { engineDirectory } from '../server/src/host/engine.ts'
import { networkName } from '../server/src/process.ts'
import { findHostNode } from '../server/test/nodes.ts'
import type { ApiClient } from './harness/api.ts'
import { makeDataDir } from './harness/data-folder.ts'
import { removeEngine } from './harness/engine-daemon.ts'
import { openTerminal, readGuide } from './harness/guide.ts'
import {
  ownerClient,
  runComputer,
  startHostServer,
  type HostServer,
} from './harness/host-server.ts'
import { eventually } from './harness/polling.ts'
import { prepareServer } from './harness/server-folder.ts'

/*
 * A server that is backed up while it works, and restored to an empty data folder, as to an empty host. The tests
 * share both, so each builds on those before it.
 */
let dataDir = ''
let restoredDir = ''
let folder = ''
let env: NodeJS.ProcessEnv = {}
let api: ApiClient
let server: HostServer
const ids = { busy: '', still: '' }
const snapshot = { id: '', machine: '' }
let template = ''
/** The number that the last acknowledged change wrote. */
let acknowledged = 0
let beforeBackup = 0

before(async () => {
  ;({ dataDir, env } = await prepareServer('backup'))
  folder = await mkdtemp(join(tmpdir(), 'computer-backups-'))
  server = await startHostServer(env)
  api = await ownerClient(env, dataDir)
})
after(async () => {
  for (const place of [dataDir, restoredDir]) {
    if (place === '') continue
    await runComputer({ ...env, COMPUTER_DATA: place }, 'down')
    await removeEngine(place, networkName(place))
  }
  await rm(folder, { recursive: true, force: true })
})

test('the first backup has everything, while machines come, change and go', async (t) => {
  const [busy, still] = await Promise.all(
    ['busy', 'still'].map((name) => api.ok('POST', '/v1/machines', { name })),
  )
  Object.assign(ids, { busy: busy.id, still: still.id })
  await api.ok('PUT', `/v1/machines/${ids.busy}/secrets`, { name: 'TOKEN', value: 'of the backup' })
  await api.run(ids.still, ['sh', '-ec', files])
  await api.ok('POST', `/v1/machines/${ids.still}/stop?wait=60`)
  await api.run(ids.busy, ['sh', '-ec', 'echo captured > note; head -c 5000000 /dev/urandom > big'])
  const made = await api.ok('POST', '/v1/snapshots', { machine_id: ids.busy, name: 'kept' })
  Object.assign(snapshot, { id: made.id, machine: ids.busy })
  await eventually('the snapshot is ready', async () => {
    return (await api.ok('GET', `/v1/snapshots/${made.id}`)).state === 'ready'
  })
  const body = { name: 'carried', snapshot_id: made.id }
  template = (await api.ok('POST', '/v1/templates', body)).id
  await api.run(ids.busy, ['sh', '-ec', 'echo present > note'])
  await churnOnce()

  const churn = startChurn()
  beforeBackup = acknowledged
  const terminal = await openOperatorTerminal(t, dataDir)
  const [backUp] = await readGuide('docs/self-hosting.md', { from: '## Backups' })
  const printed = await terminal.paste([backUp!])
  await churn.end()
  assert.match(printed, /^backup \d{8}T\d{6}Z is in .*: \d machines, \d snapshots and templates, /)
  assert.match(printed, /^BACKUP +MADE +ADDED/m)
  const [first] = (await readFolder()).backups
  assert.deepEqual(first!.missing, [])
})

test('a backup that is killed leaves the machines, the server and the earlier backup as they were', async () => {
  const before = await readFile(join(folder, 'backups.json'), 'utf8')
  const backup = spawn(process.execPath, [cli, 'backup', folder, '--full'], {
    env,
    stdio: 'ignore',
  })
  const ended = once(backup, 'exit')
  const known = await countFiles()
  await eventually('the backup writes', async () => (await countFiles()) > known, { everyMs: 5 })
  backup.kill('SIGKILL')
  await ended
  assert.equal(await readFile(join(folder, 'backups.json'), 'utf8'), before)
  assert.equal(await api.run(ids.busy, ['cat', 'note']), 'present\n')
})

test('the second backup adds what has changed, and little else', async () => {
  await api.run(ids.busy, ['sh', '-ec', 'head -c 1000000 /dev/urandom > new; echo later > note'])
  await churnOnce()
  beforeBackup = acknowledged
  const churn = startChurn()
  const { added_bytes, machines, missing } = JSON.parse(await computer('backup', folder, '--json'))
  await churn.end()
  assert.ok(machines >= 2)
  assert.deepEqual(missing, [])
  const { backups } = await readFolder()
  assert.equal(backups.length, 2)
  const first = backups[0]!.added_bytes
  assert.ok(added_bytes < first / 5, `${added_bytes} bytes after ${first}`)
  // Without the image, which is the most of the first one.
  const [whole, change] = (await readFolder()).links.filter((link) => link.machine_id === ids.busy)
  assert.ok(change!.file.bytes < whole!.file.bytes / 2, `${change!.file.bytes} bytes`)
  assert.equal(change!.base, whole!.id)
  // The last backup of each machine is kept in the pool, and nothing of the killed one.
  const kept = join(poolFolder(engineDirectory(dataDir), 'default'), 'kept')
  const [keeper] = await readdir(kept)
  for (const instance of await readdir(join(kept, keeper!))) {
    assert.equal((await readdir(join(kept, keeper!, instance))).length, 1, instance)
  }
})

test('a restore refuses a folder that is in use, and fills an empty one', async (t) => {
  const refused = await runComputer(env, 'restore', folder)
  assert.equal(refused.code, 1)
  assert.match(
    refused.output,
    /is not empty \(it has .*\): a backup is restored into an empty data/,
  )
  await down(dataDir)
  const stopped = await runComputer(env, 'backup', folder)
  assert.match(stopped.output, /no server runs on .*: start it with `computer up`/)

  restoredDir = await makeDataDir('restored')
  // The restored folder names this test as its owner too.
  await rm(join(restoredDir, 'owner.pid'))
  const terminal = await openOperatorTerminal(t, restoredDir)
  const [, restore] = await readGuide('docs/self-hosting.md', { from: '## Backups' })
  const printed = await terminal.paste([restore!])
  assert.match(printed, /^backup \S+ is restored to .*; start the server: computer up$/m)
  for (const name of ['owner.key', 'secrets.keyring']) {
    const read = (place: string) => readFile(join(place, name), 'utf8')
    assert.equal(await read(restoredDir), await read(dataDir))
  }
  assert.ok(!(await readFile('/proc/self/mounts', 'utf8')).includes(` ${restoredDir}/`))
})

test('the restored server has every machine with its bytes, and what ran runs again', async () => {
  env = { ...env, COMPUTER_DATA: restoredDir }
  server = await startHostServer(env)
  api = await ownerClient(env, restoredDir)
  await eventually('the machine runs again', async () => (await state(ids.busy)) === 'running')
  assert.equal(await api.run(ids.busy, ['cat', 'note']), 'later\n')
  assert.equal(await api.run(ids.busy, ['sh', '-c', 'cat big new | wc -c']), '6000000\n')
  await eventually('the secret is delivered', async () =>
    api.run(ids.busy, ['sh', '-lc', 'printenv TOKEN']).then(
      (value) => value === 'of the backup\n',
      () => false,
    ),
  )
  assert.equal(await state(ids.still), 'stopped')
  await api.ok('POST', `/v1/machines/${ids.still}/start?wait=60`)
  assert.equal(await api.run(ids.still, ['sh', '-ec', checkFiles]), checked)
})

test('every change that was acknowledged before the backup is there, and none from after it', async () => {
  const { metadata } = await api.ok('GET', `/v1/machines/${ids.still}`)
  const count = Number(metadata.count)
  assert.ok(count >= beforeBackup && count <= acknowledged, `${count} of ${acknowledged}`)
  const { data } = await api.ok('GET', '/v1/machines')
  for (const machine of data) {
    const settled = await eventually(`${machine.name} settles`, async () => {
      const now = await api.call('GET', `/v1/machines/${machine.id}`)
      if (now.status === 404) return 'deleted'
      return ['running', 'stopped', 'error'].includes(now.body.state) && now.body.state
    })
    assert.notEqual(settled, 'error', machine.name)
  }
})

test('snapshots and templates of the restored server can be used', async () => {
  const fromTemplate = await api.ok('POST', '/v1/machines', { template })
  assert.equal(await api.run(fromTemplate.id, ['cat', 'note']), 'captured\n')
  await api.ok('DELETE', `/v1/machines/${fromTemplate.id}`)
  await api.ok('POST', `/v1/machines/${snapshot.machine}/restore`, { snapshot_id: snapshot.id })
  const path = `/v1/machines/${snapshot.machine}`
  await eventually('the snapshot is restored', async () => {
    const { state: now } = await api.ok('GET', path)
    return now === 'running' && (await api.run(ids.busy, ['cat', 'note'])) === 'captured\n'
  })
})

test('backups of the restored server go to the same folder, and the oldest are removed', async () => {
  const { id } = JSON.parse(await computer('backup', folder, '--keep', '1', '--json'))
  const index = await readFolder()
  assert.deepEqual(
    index.backups.map((one) => one.id),
    [id],
  )
  assert.ok(index.links.every(({ base }) => base === null))
  assert.equal((await readdir(join(folder, 'backups'))).length, 1)
  assert.equal(server.child.exitCode, null)
})

const cli = join(import.meta.dirname, '..', 'cli', 'src', 'main.ts')

const files = `mkdir t; cd t; head -c 3000000 /dev/zero | tr '\\0' x > full; ln full hard; truncate -s 50M sparse
echo secret > private; chmod 600 private; ln -s full symbolic; sha256sum full sparse > sums`
const checkFiles = `cd t; sha256sum --check --quiet sums; stat -c '%h %a' full private; readlink symbolic
[ full -ef hard ] && echo same; [ "$(du -k sparse | cut -f 1)" -lt 100 ] && echo sparse`
const checked = '2 644\n1 600\nfull\nsame\nsparse\n'

/** Changes metadata, makes and deletes machines, and takes snapshots, until it is ended. */
function startChurn(): { end(): Promise<void> } {
  let isOver = false
  const work = (async () => {
    while (!isOver) await churnOnce()
  })()
  const lives = (async () => {
    while (!isOver) {
      const { id } = await api.ok('POST', '/v1/machines', { start: false })
      const taken = await api.call('POST', '/v1/snapshots', {
        machine_id: ids.still,
        name: 'churn',
      })
      await api.ok('DELETE', `/v1/machines/${id}`)
      if (taken.status < 300) await api.call('DELETE', `/v1/snapshots/${taken.body.id}`)
    }
  })()
  const both = Promise.all([work, lives])
  both.catch(() => {})
  return {
    async end() {
      isOver = true
      await both
    },
  }
}

async function churnOnce(): Promise<void> {
  const metadata = { count: String(acknowledged + 1) }
  await api.ok('PATCH', `/v1/machines/${ids.still}`, { metadata })
  acknowledged += 1
}

async function state(id: string): Promise<string> {
  return (await api.ok('GET', `/v1/machines/${id}`)).state
}

async function readFolder(): Promise<BackupIndex> {
  return JSON.parse(await readFile(join(folder, 'backups.json'), 'utf8'))
}

async function countFiles(): Promise<number> {
  return existsSync(folder) ? (await readdir(folder, { recursive: true })).length : 0
}

async function computer(...args: string[]): Promise<string> {
  const { code, output } = await runComputer(env, ...args)
  assert.equal(code, 0, output)
  // Standard error has the progress.
  return output.slice(output.indexOf('{'))
}

async function down(place: string): Promise<void> {
  const ended = once(server.child, 'exit')
  const { code, output } = await runComputer({ ...env, COMPUTER_DATA: place }, 'down')
  assert.equal(code, 0, output)
  await ended
}

async function openOperatorTerminal(t: TestContext, place: string) {
  const defined = Object.entries(env).filter(([name]) => name.startsWith('COMPUTER_'))
  const variables = { ...Object.fromEntries(defined), COMPUTER_DATA: place, folder }
  const nodeDir = (await findHostNode()) ?? dirname(process.execPath)
  return openTerminal(t, nodeDir, variables as Record<string, string>)
}
