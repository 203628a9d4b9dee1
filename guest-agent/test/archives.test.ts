import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { tarEnd } from '@computer/contract/tar'
import { archiveDirectory } from '../src/files/archive.ts'
import type { FileSpace } from '../src/files/space.ts'
import { makeSpace, mount } from './file-space.ts'
import { extract } from './packed-archives.ts'

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

async function archive(space: FileSpace, path: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of await archiveDirectory(space, path)) chunks.push(chunk)
  return Buffer.concat(chunks)
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
