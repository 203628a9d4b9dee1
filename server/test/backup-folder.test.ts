import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { openBackupFolder, readBackups } from '../src/backup/folder.ts'
import { archiveFiles, extractFiles } from '../src/backup/small-files.ts'
import { readStored, storeFile } from '../src/backup/stored-file.ts'
import {
  markFinished,
  markUnfinished,
  requireEmptyDataDir,
  requireWholeRestore,
} from '../src/host/data-folder.ts'

/* Backup folders and their files, without a server. */

const { signal } = new AbortController()

test('a new folder is for root alone, and only one backup at a time goes to it', async (t) => {
  const home = await temporaryFolder(t)
  const path = join(home, 'backups')
  using folder = await openBackupFolder(path, '/nonexistent')
  assert.equal((await stat(path)).mode & 0o777, 0o700)
  await assert.rejects(openBackupFolder(path, '/nonexistent'), /another backup to .* is under way/)
  assert.deepEqual((await readBackups(path)).index, folder.index)
})

test('a folder in the data folder, with other files, or of another version is refused', async (t) => {
  const home = await temporaryFolder(t)
  await assert.rejects(openBackupFolder(join(home, 'backups'), home), /is in the data folder/)
  await writeFile(join(home, 'letter.txt'), '')
  await assert.rejects(openBackupFolder(home, '/nonexistent'), /has other files \(letter\.txt\)/)
  await assert.rejects(readBackups(home), /has no backups: there is no backups\.json/)
  await assert.rejects(readBackups(join(home, 'none')), /there is no folder/)
  await writeFile(join(home, 'backups.json'), '{"version":2}')
  await assert.rejects(readBackups(home), /another version of Computer, or is damaged/)
})

test('what an interrupted backup left is removed by the next one', async (t) => {
  const path = join(await temporaryFolder(t), 'backups')
  ;(await openBackupFolder(path, '/nonexistent'))[Symbol.dispose]()
  await storeFile(path, 'machines/mch_a/cap_b.zst', Readable.from(['left']), signal)
  ;(await openBackupFolder(path, '/nonexistent'))[Symbol.dispose]()
  assert.deepEqual((await readdir(path)).sort(), ['backups.json', 'lock'])
})

test('a stored file is read as it was, and one that was changed fails', async (t) => {
  const path = await temporaryFolder(t)
  const bytes = Buffer.alloc(300_000, 'content ')
  const file = await storeFile(path, 'backups/one/file.zst', Readable.from([bytes]), signal)
  assert.ok(file.bytes < 10_000)
  assert.ok((await buffer(readStored(path, file))).equals(bytes))

  const stored = join(path, file.path)
  const content = await readFile(stored)
  content[content.length - 1]! ^= 1
  await writeFile(stored, content)
  await assert.rejects(buffer(readStored(path, file)))
  // Another whole file in its place.
  const other = await storeFile(path, 'other.zst', Readable.from(['other']), signal)
  await assert.rejects(buffer(readStored(path, { ...file, path: other.path })), /is damaged/)
})

test('the archive of a data folder has its small files, and no disk, database or keyring', async (t) => {
  const dataDir = await temporaryFolder(t)
  const target = await temporaryFolder(t)
  for (const folder of [
    'engine',
    'postgres',
    'images',
    'logs',
    'run',
    'guest',
    'previews/images',
  ]) {
    await mkdir(join(dataDir, folder), { recursive: true })
    await writeFile(join(dataDir, folder, 'file'), folder)
  }
  for (const name of ['owner.key', 'secrets.keyring', 'computer.env']) {
    await writeFile(join(dataDir, name), name, { mode: 0o600 })
  }
  const place = { dataDir, keyringPath: join(dataDir, 'secrets.keyring') }
  await writeFile(join(target, 'computer.env'), 'of the new host')
  // The program ends at the mark of the archive's end, with some of the stream unread.
  const padded = [
    await buffer(archiveFiles(place)),
    ...Array<Buffer>(20).fill(Buffer.alloc(200_000)),
  ]
  await extractFiles(Readable.from(padded), target)
  const names = (await readdir(target, { recursive: true })).sort()
  assert.deepEqual(names, [
    'computer.env',
    'owner.key',
    'previews',
    'previews/images',
    'previews/images/file',
  ])
  assert.equal(await readFile(join(target, 'computer.env'), 'utf8'), 'of the new host')
  assert.equal((await stat(join(target, 'owner.key'))).mode & 0o777, 0o600)
})

test('an archive that cannot be made fails its reader, and a broken one is not extracted', async (t) => {
  const target = await temporaryFolder(t)
  const place = { dataDir: join(target, 'none'), keyringPath: join(target, 'none', 'keyring') }
  await assert.rejects(buffer(archiveFiles(place)), /could not archive the files/)
  await assert.rejects(extractFiles(Readable.from(['none']), target), /could not extract/)
})

test('a restore needs an empty data folder, and one that broke off is not gone on with', async (t) => {
  const dataDir = await temporaryFolder(t)
  requireEmptyDataDir(join(dataDir, 'none'))
  await mkdir(join(dataDir, 'images'))
  requireEmptyDataDir(dataDir)
  await mkdir(join(dataDir, 'postgres'))
  assert.throws(() => requireEmptyDataDir(dataDir), /is not empty \(it has postgres\)/)
  await markUnfinished(dataDir)
  for (const require of [requireEmptyDataDir, requireWholeRestore]) {
    assert.throws(() => require(dataDir), /broke off: run `computer down`, remove the folder/)
  }
  await markFinished(dataDir)
  requireWholeRestore(dataDir)
})

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'computer-backups-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}
