import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { readConfig } from '../src/config.ts'
import { ownLauncher } from '../src/host/launcher.ts'
import { removeService } from '../src/host/service/remove.ts'
import { describeUnit, unitName } from '../src/host/service/unit.ts'
import { removeDataFolder } from '../src/host/uninstall/data-folder.ts'
import { findOtherServers } from '../src/host/uninstall/other-servers.ts'
import { listRemains } from '../src/host/uninstall/remains.ts'
import { undoSetUp } from '../src/host/uninstall/shared.ts'

/* The parts of `computer uninstall` that need no engine. e2e/uninstall.test.ts runs the whole. */

const run = promisify(execFile)

test('only what a server makes is removed from a data folder', async (t) => {
  const dataDir = await folder(t)
  const names = ['postgres', 'postgres.new-12', 'engine', 'run', 'logs', 'previews']
  for (const name of names) await mkdir(join(dataDir, name))
  await writeFile(join(dataDir, 'owner.key'), 'x')
  await writeFile(join(dataDir, 'run/server.lock'), '')
  await writeFile(join(dataDir, 'notes.txt'), 'mine')
  assert.deepEqual(await removeDataFolder(dataDir), ['notes.txt'])
  assert.deepEqual(await readdir(dataDir), ['notes.txt'])
})

test('another folder is not taken for a data folder', async (t) => {
  const home = await folder(t)
  for (const name of ['images', 'logs', 'run']) await mkdir(join(home, name))
  assert.deepEqual((await removeDataFolder(home)).toSorted(), ['images', 'logs', 'run'])
})

test('a folder in which only the set-up has made the image is removed', async (t) => {
  const dataDir = join(await folder(t), 'data')
  await mkdir(join(dataDir, 'images'), { recursive: true })
  await writeFile(join(dataDir, 'images/.lock'), '')
  assert.deepEqual(await removeDataFolder(dataDir), [])
  await assert.rejects(stat(dataDir), { code: 'ENOENT' })
})

test('nothing is removed from a data folder in which something is mounted', async (t) => {
  const dataDir = await folder(t)
  await mkdir(join(dataDir, 'run'))
  await writeFile(join(dataDir, 'run/server.lock'), '')
  const images = join(dataDir, 'images')
  await mkdir(images)
  await run('mount', ['-t', 'tmpfs', 'tmpfs', images])
  try {
    await assert.rejects(removeDataFolder(dataDir), /images is mounted in the data folder/)
    assert.deepEqual((await readdir(dataDir)).toSorted(), ['images', 'run'])
  } finally {
    await run('umount', [images])
  }
})

test('another answer than the path of the data folder changes nothing', async (t) => {
  const dataDir = await folder(t)
  await mkdir(join(dataDir, 'run'))
  await writeFile(join(dataDir, 'run/server.lock'), '')
  const main = join(import.meta.dirname, '../src/main-uninstall.ts')
  // `script` gives the program a terminal.
  const command = `script --quiet --return --command '${process.execPath} ${main}' /dev/null`
  const answer = (text: string) =>
    run('sh', ['-c', `echo ${text} | ${command}`], {
      env: { ...process.env, COMPUTER_DATA: dataDir },
    })
  for (const text of ['yes', '/var/lib/computer', `${dataDir}/`, '']) {
    await assert.rejects(answer(text), (error: { code: number; stdout: string }) => {
      assert.match(error.stdout, /deletes all machines[^]*Type that path[^]*nothing was changed/)
      return error.code === 1
    })
  }
  assert.deepEqual(await readdir(dataDir), ['run'])
})

test('a link to a data folder stays, and the folder is emptied', async (t) => {
  const root = await folder(t)
  await mkdir(join(root, 'disk/run'), { recursive: true })
  await writeFile(join(root, 'disk/run/server.lock'), '')
  await symlink(join(root, 'disk'), join(root, 'data'))
  assert.deepEqual(await removeDataFolder(join(root, 'data')), [])
  assert.deepEqual(await readdir(join(root, 'data')), [])
})

test('the lines and the link of the set-up are removed, and nothing else', async (t) => {
  const root = await folder(t)
  const idFile = join(root, 'subuid')
  const launcher = join(root, 'computer')
  await writeFile(idFile, 'ada:100000:65536\nroot:1000000:1000000000\nroot:500000:65536\n')
  await chmod(idFile, 0o644)
  await symlink(ownLauncher, launcher)
  const files = { idFiles: [idFile, join(root, 'missing')], launcher }
  assert.deepEqual(await undoSetUp(files), [
    `the line root:1000000:1000000000 of ${idFile}`,
    launcher,
  ])
  assert.equal(await readFile(idFile, 'utf8'), 'ada:100000:65536\nroot:500000:65536\n')
  assert.equal((await stat(idFile)).mode & 0o777, 0o644)
  assert.deepEqual(await undoSetUp(files), [])

  const other = join(root, 'other')
  await writeFile(other, '')
  await symlink(other, launcher)
  assert.deepEqual(await undoSetUp(files), [])
  assert.ok((await lstat(launcher)).isSymbolicLink())
})

test('the set-up adds the line that is removed', async (t) => {
  const path = join(await folder(t), 'subuid')
  await writeFile(path, '')
  const script = '. scripts/setup/host.sh; echo "root:$id_range_start:$id_range_count" >"$1"'
  await run('bash', ['-c', script, 'test', path], { cwd: join(import.meta.dirname, '../..') })
  const removed = await undoSetUp({ idFiles: [path], launcher: '/nonexistent' })
  assert.equal(removed.length, 1)
})

test('the service of another data folder is a sign of another server', async (t) => {
  const unitDir = await folder(t)
  const signs = async () => {
    const found = await findOtherServers('/srv/one', 'cmp0000000000', { unitDir, runDir: '' })
    return found.filter((sign) => sign.startsWith('the service '))
  }
  const write = (dataDir: string) =>
    writeFile(join(unitDir, unitName(dataDir)), describeUnit('/bin/true', dataDir))
  await write('/srv/one')
  await writeFile(join(unitDir, 'computer-of-somebody.service'), '[Service]\n')
  assert.deepEqual(await signs(), [])
  await write('/srv/two')
  assert.deepEqual(await signs(), ['the service computer-srv-two.service'])
})

test('a service is removed where systemd does not run, and only our own', async (t) => {
  const unitDir = await folder(t)
  const systemd = { unitDir, runDir: join(unitDir, 'missing') }
  const path = join(unitDir, 'computer-srv-one.service')
  assert.equal(await removeService('/srv/one', systemd), null)
  await writeFile(path, '[Service]\n')
  await assert.rejects(removeService('/srv/one', systemd), /was not written by/)
  await writeFile(path, describeUnit('/bin/true', '/srv/one'))
  assert.equal(await removeService('/srv/one', systemd), path)
  assert.deepEqual(await readdir(unitDir), [])
})

test('what stays elsewhere is named without credentials', () => {
  const config = readConfig({
    COMPUTER_DATA: '/srv/one',
    DATABASE_URL: 'postgresql://computer:hush@db.example.com:5433/machines?sslmode=require',
    ENGINE_URL: 'https://engine.example.com:8443',
    ENGINE_CERT: '/etc/engine.crt',
    ENGINE_KEY: '/etc/engine.key',
    COMPUTER_POOL_SOURCE: '/dev/sdb',
    COMPUTER_SECRETS_KEYRING: '/etc/computer.keyring',
  })
  const text = listRemains(config).join('\n')
  assert.match(text, /the database machines at db\.example\.com:5433/)
  assert.match(text, /the engine https:\/\/engine\.example\.com:8443/)
  assert.match(text, /\/dev\/sdb[^]*\/etc\/computer\.keyring/)
  assert.doesNotMatch(text, /hush/)
  assert.doesNotMatch(text, /images/)
})

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'computer-uninstall-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}
