import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { encodeTarHeader, tarEnd, tarPadding, type TarEntry } from '@computer/contract/tar'
import { archiveDirectory } from '../src/files/archive.ts'
import { extractArchive } from '../src/files/extract.ts'
import type { FileSpace } from '../src/files/space.ts'
import { makeSpace, mount } from './file-space.ts'

test('a folder is archived and extracted with its files, permissions and symlinks', async (t) => {
  const { space, home } = makeSpace(t)
  makeTree(join(home, 'tree'))
  const written = await extract(space, 'copy/of/it', await archive(space, 'tree'))
  assert.deepEqual(written, { path: join(home, 'copy/of/it'), files: 3, bytes: 300_005 })
  const copy = join(home, 'copy/of/it')
  execFileSync('diff', ['-r', '--no-dereference', join(home, 'tree'), copy])
  assert.equal(statSync(join(copy, 'd')).mode & 0o7777, 0o750)
  // Set-user-ID bits stay behind.
  assert.equal(statSync(join(copy, 'd/run')).mode & 0o7777, 0o755)
  assert.equal(readlinkSync(join(copy, 'dangling')), '/nowhere/at/all')
})

test('other programs read the archive', async (t) => {
  const { space, home } = makeSpace(t)
  makeTree(join(home, 'tree'))
  execFileSync('mkfifo', [join(home, 'tree/fifo')])
  mkdirSync(join(home, 'unpacked'))
  const input = await archive(space, 'tree')
  const output = execFileSync('tar', ['-x', '-C', join(home, 'unpacked')], { input })
  assert.equal(output.length, 0)
  execFileSync('rm', [join(home, 'tree/fifo')])
  execFileSync('diff', ['-r', '--no-dereference', join(home, 'tree'), join(home, 'unpacked')])
})

test('what cannot be archived is named: special and denied files, and names that are not UTF-8', async (t) => {
  const { space, home, denied } = makeSpace(t)
  const tree = join(home, 'tree')
  mkdirSync(join(tree, 'd'), { recursive: true })
  writeFileSync(join(tree, 'kept'), 'kept')
  writeFileSync(join(denied, 'secret'), 'SECRET')
  execFileSync('mkfifo', [join(tree, 'd/fifo')])
  execFileSync('mknod', [join(tree, 'device'), 'c', '1', '3'])
  linkSync(join(denied, 'secret'), join(tree, 'd/hard'))
  writeFileSync(Buffer.from(`${tree}/caf\xe9`, 'latin1'), '')
  symlinkSync(Buffer.from([0xff]), join(tree, 'link'))
  // A link to a denied file is archived as the link that it is.
  symlinkSync(join(denied, 'secret'), join(tree, 'd/soft'))
  mkdirSync(join(tree, 'mounted'))
  using _mounted = mount(['--bind', denied], join(tree, 'mounted'))
  const bytes = await archive(space, 'tree')
  assert.ok(!bytes.includes('SECRET'))
  const omitted = ['caf\ufffd', 'd/fifo', 'd/hard', 'device', 'link', 'mounted']
  assert.deepEqual(omittedIn(bytes), omitted)
  const copied = await extract(space, 'copy', bytes)
  assert.equal(copied.files, 1)
  assert.deepEqual(readdirSync(join(home, 'copy')).toSorted(), ['d', 'kept'])
})

test('a folder that is none, is missing or is denied is refused before the archive begins', async (t) => {
  const { space, home, denied } = makeSpace(t)
  writeFileSync(join(home, 'file'), '')
  symlinkSync(denied, join(home, 'link'))
  for (const [path, code] of [
    ['file', 'invalid_request'],
    ['missing', 'not_found'],
    ['link', 'permission_denied'],
    [denied, 'permission_denied'],
  ] as const) {
    await assert.rejects(archiveDirectory(space, path), { code }, path)
  }
  for (const path of ['file', 'file/below', 'link', denied, `${denied}/below`]) {
    await assert.rejects(extract(space, path, tarEnd), /file is not a directory|may not touch/)
  }
  await assert.rejects(extract(space, '/proc', tarEnd), /belongs to the kernel/)
  assert.deepEqual(readdirSync(denied), [])
})

test('a file that grows is cut at its size, and one that shrinks ends the archive', async (t) => {
  const { space, home } = makeSpace(t)
  const path = join(home, 'tree/log')
  mkdirSync(join(home, 'tree'))
  writeFileSync(path, Buffer.alloc(400_000, 'a'))
  const changeDuring = async (size: number) => {
    const chunks: Buffer[] = []
    for await (const chunk of await archiveDirectory(space, 'tree')) {
      if (chunks.length === 0) truncateSync(path, size)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }
  const grown = await changeDuring(900_000)
  await extract(space, 'copy', grown)
  assert.equal(statSync(join(home, 'copy/log')).size, 400_000)
  await assert.rejects(changeDuring(10), /became shorter/)
})

test('the deepest tree that a path can name is archived', async (t) => {
  const { space, home } = makeSpace(t)
  const depth = 1_900
  mkdirSync(join(home, 'tree', 'd/'.repeat(depth)), { recursive: true })
  const bytes = await archive(space, 'tree')
  const listed = execFileSync('tar', ['-t'], { input: bytes, maxBuffer: 64 * 1024 * 1024 })
  const lines = listed.toString('utf8').trim().split('\n')
  assert.equal(lines.length, depth + 1)
  assert.equal(lines.at(-2), 'd/'.repeat(depth))
})

test('a reader that goes away leaves no file open', async (t) => {
  const { space, home } = makeSpace(t)
  mkdirSync(join(home, 'tree/a/b'), { recursive: true })
  writeFileSync(join(home, 'tree/a/b/file'), Buffer.alloc(1_000_000))
  const before = readdirSync('/proc/self/fd').length
  for (const taken of [0, 1, 2]) {
    const stream = Readable.from(await archiveDirectory(space, 'tree'), { objectMode: false })
    const chunks = stream[Symbol.asyncIterator]()
    for (let count = 0; count < taken; count++) await chunks.next()
    stream.destroy()
    await new Promise((resolve) => stream.once('close', resolve))
  }
  assert.equal(readdirSync('/proc/self/fd').length, before)
})

test('extraction replaces files and keeps their owners; new ones belong to that of their folder', async (t) => {
  const { space, home } = makeSpace(t)
  mkdirSync(join(home, 'to'))
  writeFileSync(join(home, 'to/old'), 'old', { mode: 0o600 })
  chownSync(join(home, 'to'), 123, 456)
  chownSync(join(home, 'to/old'), 7, 8)
  mkdirSync(join(home, 'to/kept'), { mode: 0o700 })
  const bytes = pack(
    { type: 'directory', path: '.', mode: 0o777 },
    { type: 'directory', path: 'kept', mode: 0o777 },
    { type: 'directory', path: 'made', mode: 0o775 },
    file('old', 'new', 0o640),
    file('a/b/c', 'c'),
    { type: 'symlink', path: 'link', target: 'old' },
  )
  await extract(space, 'to', bytes)
  const shown = (path: string) => {
    const { uid, gid, mode } = lstatSync(join(home, 'to', path))
    return [uid, gid, (mode & 0o7777).toString(8)]
  }
  assert.deepEqual(shown('old'), [7, 8, '640'])
  assert.deepEqual(shown('made'), [123, 456, '775'])
  assert.deepEqual(shown('a/b'), [123, 456, '755'])
  assert.deepEqual(shown('a/b/c'), [123, 456, '644'])
  assert.deepEqual(shown('link').slice(0, 2), [123, 456])
  assert.deepEqual(shown('kept'), [0, 0, '700'])
  assert.equal(statSync(join(home, 'to')).mode & 0o777, 0o755)
  assert.equal(readFileSync(join(home, 'to/old'), 'utf8'), 'new')
})

test('an error names the entry, says how much was written, and leaves it and nothing else', async (t) => {
  const { space, home } = makeSpace(t)
  mkdirSync(join(home, 'to/taken'), { recursive: true })
  execFileSync('mkfifo', [join(home, 'to/fifo')])
  const two = [file('one', '1'), file('two', '2')]
  const hard = Buffer.from(encodeTarHeader(two[0]!))
  // A header of the type of hard links, with its checksum.
  hard.write('1', 156)
  hard.write('0000', 148)
  hard.write(
    `${hard
      .reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 32 : byte), 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
  )
  for (const [last, code, message] of [
    [pack(file('taken', 'x')), 'invalid_request', /to\/taken is a directory; 2 files were/],
    [pack(file('one/below', 'x')), 'invalid_request', /to\/one is not a directory; 2 files/],
    [pack(file('fifo', 'x')), 'invalid_request', /fifo is not a regular file; 2 files were/],
    [pack(file('x'.repeat(256), 'x')), 'invalid_request', /longer than 255 bytes.*; 2 files were/],
    [pack(file('../out', 'x')), 'invalid_request', /leads out of the folder; 2 files were/],
    [hard, 'invalid_request', /one is a hard link; .*; 2 files were written before/],
    [pack(file('cut', 'xy')).subarray(0, 513), 'invalid_request', /cut off; 2 files were written/],
  ] as const) {
    const start = pack(...two).subarray(0, -tarEnd.length)
    await assert.rejects(extract(space, 'to', Buffer.concat([start, last])), { code, message })
    assert.deepEqual(readdirSync(join(home, 'to')).toSorted(), ['fifo', 'one', 'taken', 'two'])
  }
  await assert.rejects(extract(space, 'to', Buffer.alloc(1024, 'x')), /0 files were written before/)
})

test('no link leads an extraction out of its folder', async (t) => {
  const { space, home, denied } = makeSpace(t)
  const outside = join(home, 'outside')
  mkdirSync(outside)
  writeFileSync(join(outside, 'precious'), 'precious')
  mkdirSync(join(home, 'to'))
  symlinkSync(outside, join(home, 'to/there'))
  symlinkSync(join(outside, 'precious'), join(home, 'to/file'))
  const link = (path: string, target: string): TarEntry => ({ type: 'symlink', path, target })
  const directory = (path: string): TarEntry => ({ type: 'directory', path, mode: 0o777 })
  // Through links that were there before, and through links of the archive itself.
  for (const entries of [
    [file('there/a', 'a')],
    [directory('there')],
    [link('own', outside), file('own/c', 'c')],
    [link('up', '..'), file('up/outside/d', 'd')],
    [link('secrets', denied), directory('secrets')],
    [link('below', denied), file('below/e', 'e')],
    [directory('made'), link('made/there', outside), file('made/there/f', 'f')],
  ]) {
    const refused = { code: 'conflict', message: /is a symlink where the archive has a directory/ }
    await assert.rejects(extract(space, 'to', pack(...entries)), refused)
  }
  await extract(
    space,
    'to',
    pack(
      file('file', 'b'),
      link('precious', join(outside, 'precious')),
      file('precious', 'f'),
      link('dangling', join(outside, 'new')),
      file('dangling', 'g'),
      link('there', 'elsewhere'),
    ),
  )
  assert.deepEqual(readdirSync(outside), ['precious'])
  assert.equal(readFileSync(join(outside, 'precious'), 'utf8'), 'precious')
  assert.deepEqual(readdirSync(denied), [])
  assert.equal(readFileSync(join(home, 'to/file'), 'utf8'), 'b')
  assert.equal(readlinkSync(join(home, 'to/there')), 'elsewhere')
  // The folder itself may be named by a link.
  symlinkSync('to', join(home, 'named'))
  await extract(space, 'named', pack(file('h', 'h')))
  assert.equal(readFileSync(join(home, 'to/h'), 'utf8'), 'h')
})

test('denied files are neither replaced nor hidden by an extraction', async (t) => {
  const { space, home, denied } = makeSpace(t)
  writeFileSync(join(denied, 'secret'), 'SECRET')
  mkdirSync(join(home, 'to/mounted'), { recursive: true })
  using _mounted = mount(['--bind', denied], join(home, 'to/mounted'))
  linkSync(join(denied, 'secret'), join(home, 'to/hard'))
  for (const one of [file('mounted/x', 'x'), file('hard', 'x')]) {
    await assert.rejects(extract(space, 'to', pack(one)), { code: 'permission_denied' })
  }
  const above = join(denied, '..')
  for (const one of [file('denied/x', 'x'), { type: 'symlink', path: 'denied', target: '/' }]) {
    await assert.rejects(extract(space, above, pack(one as TarEntry)), {
      code: 'permission_denied',
    })
  }
  assert.deepEqual(readdirSync(denied), ['secret'])
  assert.equal(readFileSync(join(denied, 'secret'), 'utf8'), 'SECRET')
})

type File = TarEntry & { readonly type: 'file'; readonly text: string }

function file(path: string, text: string, mode = 0o644): File {
  return { type: 'file', path, mode, size: Buffer.byteLength(text), text }
}

function pack(...entries: readonly (TarEntry | File)[]): Buffer {
  const parts = entries.flatMap((entry) => {
    const content = Buffer.from('text' in entry ? entry.text : '')
    return [encodeTarHeader(entry), content, tarPadding(content.length)]
  })
  return Buffer.concat([...parts, tarEnd])
}

async function archive(space: FileSpace, path: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of await archiveDirectory(space, path)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** In chunks as they come from a network. */
function extract(space: FileSpace, path: string, bytes: Buffer) {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; at += 700) chunks.push(bytes.subarray(at, at + 700))
  return extractArchive(space, path, Readable.from(chunks, { objectMode: false }))
}

function omittedIn(bytes: Buffer): string[] {
  const found = bytes.toString('utf8').matchAll(/COMPUTER\.omitted=(.*)\n/g)
  return [...found].map(([, path]) => path!).toSorted()
}

function makeTree(tree: string): void {
  mkdirSync(join(tree, 'd/empty'), { recursive: true })
  chmodSync(join(tree, 'd'), 0o750)
  writeFileSync(join(tree, 'd/run'), 'hello')
  chmodSync(join(tree, 'd/run'), 0o4755)
  writeFileSync(join(tree, 'Grüße 漢'), Buffer.alloc(300_000, 'z'))
  writeFileSync(join(tree, 'd/nothing'), '')
  symlinkSync('d/run', join(tree, 'link'))
  symlinkSync('/nowhere/at/all', join(tree, 'dangling'))
}
