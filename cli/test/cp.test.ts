import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  readlink,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ApiError } from '@computer/sdk'
import { parseTarget } from '../src/commands/cp/target.ts'
import { uploadTree } from '../src/commands/cp/upload.ts'
import { startComputer } from './computer.ts'

const { run, start, json, server, folder } = await startComputer({ after })
const { id } = await server.machine({ name: 'first' })
const here = (path: string) => join(folder, path)
const inside = async (path: string) => (await run(['exec', 'first', 'cat', path])).stdout

test('a colon before any slash follows a machine name', () => {
  const machine = (name: string, path: string) => ({ type: 'machine', machine: name, path })
  assert.deepEqual(parseTarget('first:'), machine('first', '.'))
  assert.deepEqual(parseTarget('first:/a:b'), machine('first', '/a:b'))
  for (const path of ['./first:x', '/first:x', 'a/b:c', 'file'])
    assert.deepEqual(parseTarget(path), { type: 'local', path })
  assert.deepEqual(parseTarget('-'), { type: 'stream' })
})

test('a file is copied both ways with its bytes and permissions', async () => {
  const bytes = randomBytes(3_000_001)
  await writeFile(here('big'), bytes)
  await chmod(here('big'), 0o750)
  assert.deepEqual(await json('cp', 'big', 'first:'), {
    files: 1,
    bytes: bytes.length,
    skipped: [],
  })
  const silent = await run(['cp', 'first:big', 'back'])
  assert.deepEqual([silent.code, silent.stdout, silent.stderr], [0, '', ''])
  assert.deepEqual(await readFile(here('back')), bytes)
  assert.equal((await stat(here('back'))).mode & 0o777, 0o750)
  assert.equal((await run(['cp', `${id}:big`, '-'])).bytes.compare(bytes), 0)
})

test('copying into an existing folder keeps the file name', async () => {
  await writeFile(here('note'), 'a note')
  await mkdir(here('folder'))
  await run(['cp', 'note', 'first:Documents'])
  assert.equal(await inside('Documents/note'), 'a note')
  await run(['cp', 'note', 'first:deep/er/'])
  assert.equal(await inside('deep/er/note'), 'a note')
  await run(['cp', 'first:deep/er/note', 'folder'])
  assert.equal(await readFile(here('folder/note'), 'utf8'), 'a note')
  await run(['cp', '-', 'first:piped'], { stdin: 'from a pipe' })
  assert.equal(await inside('piped'), 'from a pipe')
})

test('a folder is copied recursively, and only with -r', async () => {
  await mkdir(here('tree/one/two'), { recursive: true })
  await mkdir(here('tree/empty'))
  for (const [path, text] of [
    ['tree/a', 'A'],
    ['tree/one/two/b', 'B'],
    ['tree/one/ü c', 'C'],
  ] as const)
    await writeFile(here(path), text)
  const refused = await run(['cp', 'tree', 'first:'])
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /-r/)

  assert.equal((await json('cp', '-r', 'tree', 'first:')).files, 3)
  assert.equal(await inside('tree/one/ü c'), 'C')
  assert.equal((await run(['exec', 'first', 'test', '-d', 'tree/empty'])).code, 0)
  assert.equal((await run(['cp', 'first:tree', '.'])).code, 2)
  assert.equal((await run(['cp', '-r', 'first:tree', 'copy'])).code, 0)
  const names = async (path: string) => (await readdir(here(path), { recursive: true })).toSorted()
  assert.deepEqual(await names('copy'), await names('tree'))
  assert.equal(await readFile(here('copy/one/two/b'), 'utf8'), 'B')
})

test('a download never writes through an existing symlink', async () => {
  await mkdir(here('elsewhere'))
  await mkdir(here('trap'))
  await symlink(here('elsewhere'), here('trap/one'))
  await writeFile(here('precious'), 'precious')
  assert.equal((await run(['cp', '-r', 'first:tree/one', 'trap'])).code, 0)
  await mkdir(here('trap/tree'))
  await symlink(here('elsewhere'), here('trap/tree/one'))
  await symlink(here('precious'), here('trap/tree/a'))
  assert.equal((await run(['cp', '-r', 'first:tree', 'trap'])).code, 0)
  assert.equal(await readFile(here('precious'), 'utf8'), 'precious')
  assert.deepEqual(await readdir(here('elsewhere')), [])
  assert.equal(await readFile(here('trap/tree/a'), 'utf8'), 'A')
  assert.equal(await readFile(here('trap/one/two/b'), 'utf8'), 'B')
})

test('a folder of many files is copied both ways with permissions and symlinks', async () => {
  await mkdir(here('many/sub'), { recursive: true })
  for (let index = 0; index < 300; index++) await writeFile(here(`many/sub/${index}`), `${index}`)
  await writeFile(here('many/run'), randomBytes(700_000))
  await chmod(here('many/run'), 0o751)
  await symlink('sub/7', here('many/link'))
  await symlink('/nowhere', here('many/dangling'))
  await run([
    'exec',
    'first',
    'sh',
    '-c',
    'mkdir -p many/sub && echo old >many/sub/7 && ln -s x many/run',
  ])
  const copied = await json('cp', '-r', 'many', 'first:')
  const bytes = 700_000 + 10 + 2 * 90 + 3 * 200
  assert.deepEqual(copied, { files: 301, bytes, skipped: [] })
  assert.equal((await run(['exec', 'first', 'stat', '-c', '%a', 'many/run'])).stdout, '751\n')
  assert.equal((await run(['exec', 'first', 'cat', 'many/link'])).stdout, '7')
  assert.deepEqual(await json('cp', '-r', 'first:many', 'many-back'), copied)
  assert.equal((await stat(here('many-back/run'))).mode & 0o777, 0o751)
  assert.equal(await readFile(here('many-back/link'), 'utf8'), '7')
  assert.equal(await readlink(here('many-back/dangling')), '/nowhere')
  assert.deepEqual(await readFile(here('many-back/run')), await readFile(here('many/run')))
})

test('what cannot be copied is skipped and named, and the exit code says so', async () => {
  const inMachine =
    'mkdir odd && echo x >odd/file && mkfifo odd/fifo && touch "$(printf odd/caf\\\\351)"'
  assert.equal((await run(['exec', 'first', 'sh', '-c', inMachine])).code, 0)
  const down = await run(['cp', '-r', 'first:odd', 'odd', '--json'])
  assert.equal(down.code, 1)
  const { skipped, files } = JSON.parse(down.stdout)
  assert.deepEqual([files, skipped.toSorted()], [1, ['caf\ufffd', 'fifo']])
  assert.match(down.stderr, /^skipped (fifo|caf\ufffd): not a regular file, not readable, or/)

  await writeFile(Buffer.from(`${here('odd')}/caf\xe9`, 'latin1'), '')
  const up = await run(['cp', '-r', 'odd', 'first:odd-back', '--json'])
  assert.equal(up.code, 1)
  assert.deepEqual(JSON.parse(up.stdout), { files: 1, bytes: 2, skipped: ['odd/caf\ufffd'] })
  assert.equal(await inside('odd-back/file'), 'x\n')
})

test('an interrupted copy ends with 130 and leaves whole files alone', async () => {
  await mkdir(here('large'))
  for (let index = 0; index < 20; index++)
    await writeFile(here(`large/${index}`), Buffer.alloc(20_000_000, index))
  const copy = start(['cp', '-r', 'large', 'first:'], { stdin: '' })
  while ((await run(['exec', 'first', 'test', '-e', 'large/1'])).code !== 0);
  copy.child.kill('SIGINT')
  assert.equal((await copy.ended).code, 130)
  const sizes = 'sleep 1; find large -type f ! -size 20000000c; ls -A large | grep partial'
  assert.equal((await run(['exec', 'first', 'sh', '-c', sizes])).stdout, '')
})

test('an error in the middle of a long folder says where and how much was written', async () => {
  const prepare = 'rm -r large && mkdir -p large/19'
  await run(['exec', 'first', 'sh', '-c', prepare])
  const failed = await run(['cp', '-r', 'large', 'first:'])
  assert.equal(failed.code, 2)
  assert.match(failed.stderr, /large\/19 is a directory; \d+ files were written before/)
  await run([
    'exec',
    'first',
    'sh',
    '-c',
    'rm -r large && ln -s Documents large && mkdir many/sub/in',
  ])
  await mkdir(here('many/sub/in'), { recursive: true })
  await run(['exec', 'first', 'sh', '-c', 'rm -r many/sub && ln -s ../Documents many/sub'])
  const refused = await run(['cp', '-r', 'many', 'first:'])
  assert.equal(refused.code, 6)
  assert.match(
    refused.stderr,
    /many\/sub is a symlink where the archive has a directory; remove it/,
  )
})

test('a file that cannot be read is the error, and not the connection', async () => {
  const missing = { type: 'file', path: 'x', source: here('missing'), size: 1 } as const
  const files = {
    async writeArchive(_to: string, stream: AsyncIterable<Uint8Array>) {
      try {
        for await (const _ of stream);
      } catch (cause) {
        // As the SDK reports it.
        throw new ApiError('connection_failed', 'no response', { cause })
      }
    },
  }
  const transfer = { machine: { files }, bar: { add: () => {} }, signal: undefined }
  const tree = { files: [missing], others: [], skipped: [] }
  await assert.rejects(uploadTree(transfer as never, tree, 'to'), { code: 'ENOENT' })
})

test('a failed copy says why and leaves the destination unchanged', async () => {
  await writeFile(here('kept'), 'as it was')
  const missing = await run(['cp', 'first:nothing', 'kept'])
  assert.equal(missing.code, 5)
  assert.equal(await readFile(here('kept'), 'utf8'), 'as it was')
  assert.equal((await run(['cp', 'nothing', 'first:'])).code, 1)
  const closed = await run(['cp', 'kept', 'first:/run/computer/kept'])
  assert.equal(closed.code, 4)
  for (const args of [
    ['kept', 'other'],
    ['first:a', 'first:b'],
    ['-', 'first:Documents'],
  ]) {
    const { code, stderr } = await run(['cp', ...args])
    assert.equal(code, 2, stderr)
  }
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.includes('partial')),
    [],
  )
})
