import type { CaptureId, MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, test, type TestContext } from 'node:test'
import { backUp, type BackupParts } from '../src/backup/back-up.ts'
import { openBackupFolder } from '../src/backup/folder.ts'
import { keyOf, type Disk, type DiskKeeper, type KeptDisk } from '../src/drivers/disk-keeper.ts'
import type { Transfer } from '../src/drivers/machine-driver.ts'
import { startTestServer } from './harness.ts'
import { eventually } from './settled.ts'

/* What goes into a backup of a server whose disks come and go meanwhile: the rows are real, the disks are names. */

const server = await startTestServer({ after }, { plan: 'startup' })

test('later backups are based on the one before, and a snapshot is stored once', async (t) => {
  const { id } = await server.machine()
  const made = await server.call('POST', '/v1/snapshots', { machine_id: id, name: 'one' })
  await eventually(async () => {
    const { body } = await server.call('GET', `/v1/snapshots/${made.body.id}`)
    return body.state === 'ready' || undefined
  })
  const stage = await openStage(t, await listDisks())
  const countCaptures = () => stage.sent.filter(({ kept }) => kept.disk.kind === 'capture').length
  const first = await stage.backUp()
  assert.ok(first.machines.some((machine) => machine.id === id))
  assert.deepEqual([first.captures.length, countCaptures()], [1, 1])
  const second = await stage.backUp()
  assert.deepEqual([second.captures, countCaptures()], [first.captures, 1])
  const linkOf = (backup: typeof first) => backup.machines.find((one) => one.id === id)!.link
  assert.equal(stage.sent.find(({ kept }) => kept.id === linkOf(second))?.base, linkOf(first))
  // The pool keeps the last one alone.
  assert.equal(stage.kept.filter(({ disk }) => keyOf(disk).startsWith(id)).length, 1)
  const full = await stage.backUp({ isFull: true })
  assert.equal(stage.sent.find(({ kept }) => kept.id === linkOf(full))?.base, null)

  const kept = await stage.backUp({ keep: 1 })
  assert.deepEqual(await stage.list('backups'), [kept.id])
  assert.deepEqual((await stage.list(`machines/${id}`)).length, 2, 'the full one and the last one')
})

test('a disk that appears after the moment began is caught by the next moment', async (t) => {
  const { id } = await server.machine()
  const disks = await listDisks()
  const late = disks.filter((disk) => !keyOf(disk).startsWith(id))
  const stage = await openStage(t, late, late, disks)
  const backup = await stage.backUp()
  assert.deepEqual(backup.missing, [])
  assert.ok(backup.machines.some((machine) => machine.id === id))
})

test('a machine that is deleted while it is kept again stays as it was kept first', async (t) => {
  const { id } = await server.machine()
  const disks = await listDisks()
  const rest = disks.filter((disk) => !keyOf(disk).startsWith(id))
  const backup = await (await openStage(t, disks, rest)).backUp()
  assert.ok(backup.machines.some((machine) => machine.id === id))
})

test('a disk that the engine does not have is named, and the backup is complete without it', async (t) => {
  const { id } = await server.machine()
  const disks = (await listDisks()).filter((disk) => !keyOf(disk).startsWith(id))
  const backup = await (await openStage(t, disks)).backUp()
  assert.deepEqual(backup.missing, [id])
})

test('a backup that fails leaves the folder as it was', async (t) => {
  const stage = await openStage(t, await listDisks())
  const { id } = await stage.backUp()
  stage.failAt = 1
  await assert.rejects(stage.backUp(), /the disk cannot be read/)
  assert.deepEqual(
    stage.folder.index.backups.map((one) => one.id),
    [id],
  )
  assert.deepEqual(await stage.list('backups'), [id])
  stage.failAt = Infinity
  await stage.backUp()
  assert.equal((await stage.list('backups')).length, 2)
})

/** The disks that the rows name. */
async function listDisks(): Promise<Disk[]> {
  const rows = await server.app.db.selectFrom('machines').select(['id', 'generation']).execute()
  const captures = await server.app.db.selectFrom('captures').select('id').execute()
  return [
    ...rows.map((ref) => ({ kind: 'machine', ref }) as const),
    ...captures.map(({ id }) => ({ kind: 'capture', id }) as const),
  ]
}

/** A folder, and an engine with the disks of one listing after the other; the last one stays. */
async function openStage(t: TestContext, ...listings: Disk[][]) {
  const path = await mkdtemp(join(tmpdir(), 'computer-moment-'))
  const folder = await openBackupFolder(path, '/nonexistent')
  const kept: KeptDisk[] = []
  const sent: { kept: KeptDisk; base: CaptureId | null }[] = []
  let disks = listings[0]!
  const keeper: DiskKeeper = {
    async listDisks() {
      disks = (listings.length > 1 ? listings.shift() : listings[0])!
      return disks
    },
    async keep(disk, id) {
      kept.push({ disk, id })
      return true
    },
    listKept: async () => [...kept],
    async send(one: KeptDisk, { base }: Transfer) {
      sent.push({ kept: one, base })
      if (sent.length > stage.failAt) throw new Error('the disk cannot be read')
      return Readable.from([`disk ${keyOf(one.disk)}`])
    },
    async drop({ id }) {
      kept.splice(
        kept.findIndex((one) => one.id === id),
        1,
      )
    },
    async [Symbol.asyncDispose]() {},
  }
  const stage = {
    folder,
    kept,
    sent,
    /** Sending fails after this many disks. */
    failAt: Infinity,
    backUp: (options = {}) =>
      backUp(parts, folder, { isFull: false, withKeyring: true, keep: null, ...options }),
    list: async (name: 'backups' | `machines/${MachineId}`) => readdir(join(path, name)),
  }
  const parts: BackupParts = {
    databaseUrl: server.databaseUrl,
    db: server.app.db,
    readImage: (id, file) => server.app.driver.readImage(id, file),
    keeper,
    config: { ...server.app.config, dataDir: path },
    wait: () => {},
    signal: new AbortController().signal,
  }
  t.after(async () => {
    folder[Symbol.dispose]()
    await rm(path, { recursive: true })
  })
  return stage
}
