import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { mapFileErrors } from '../src/files/errors.ts'
import { listDirectory } from '../src/files/list.ts'
import { openRange, type ReadRequest } from '../src/files/read.ts'
import type { FileSpace } from '../src/files/space.ts'
import { writeFile } from '../src/files/write.ts'
import { bodyOf, makeSpace } from './file-space.ts'

const write = { append: false, createParents: true }

test('a write creates the directories on its way and replaces the file atomically', async (t) => {
  const { space, home } = makeSpace(t)
  const request = { ...write, path: 'a/b/c.txt' }
  const first = await writeFile(space, { ...request, mode: 0o600 }, bodyOf('one'))
  assert.deepEqual(first, { path: join(home, 'a/b/c.txt'), size: 3 })

  const broken = { ...bodyOf(''), stream: Readable.from(failAfter(Buffer.from('half'))) }
  await assert.rejects(writeFile(space, request, broken), /broken off/)
  const cut = { ...bodyOf('half'), isComplete: () => false }
  await assert.rejects(writeFile(space, request, cut), /cut off/)
  assert.equal(readFileSync(join(home, 'a/b/c.txt'), 'utf8'), 'one')
  assert.deepEqual(readdirSync(join(home, 'a/b')), ['c.txt'])

  await writeFile(space, request, bodyOf('three'))
  assert.equal(readFileSync(join(home, 'a/b/c.txt'), 'utf8'), 'three')
  assert.equal(statSync(join(home, 'a/b/c.txt')).mode & 0o777, 0o600)
  const appended = await writeFile(space, { ...request, append: true }, bodyOf('!'))
  assert.equal(appended.size, 6)
})

test('new files belong to the owner of their directory, and in a shared one to the user', async (t) => {
  const { space, home } = makeSpace(t)
  execFileSync('chown', ['123:456', home])
  mkdirSync(join(home, 'shared'))
  execFileSync('chmod', ['1777', join(home, 'shared')])
  for (const path of ['own/file', 'shared/file']) {
    await writeFile(space, { ...write, path }, bodyOf('x'))
  }
  const own = statSync(join(home, 'own/file'))
  assert.deepEqual([own.uid, own.gid], [123, 456])
  assert.equal(statSync(join(home, 'shared/file')).uid, space.owner.uid)
})

test('a range is clamped to the file; a missing file and a directory differ in their error', async (t) => {
  const { space, home } = makeSpace(t)
  writeFileSync(join(home, 'f'), '0123456789')
  assert.deepEqual(await readRange(space, { path: 'f', offset: 7, length: 100 }), {
    size: 10,
    offset: 7,
    text: '789',
  })
  assert.deepEqual(await readRange(space, { path: 'f', offset: 11 }), {
    size: 10,
    offset: 10,
    text: '',
  })
  const refusals = { nope: 'not_found', '.': 'invalid_request', 'f/': 'invalid_request' }
  for (const [path, code] of Object.entries({ ...refusals, 'a\0b': 'invalid_request' })) {
    await assert.rejects(openRange(space, { path, offset: 0 }), { code }, path)
  }
})

test('an error names the path that the caller gave, and no other', async (t) => {
  const { space } = makeSpace(t)
  const long = 'x'.repeat(256)
  const attempts = {
    [long]: () => writeFile(space, { ...write, path: long }, bodyOf('')),
    '.': () => openRange(space, { path: '.', offset: 0 }),
  }
  for (const [path, attempt] of Object.entries(attempts)) {
    await assert.rejects(
      mapFileErrors(path, async () => attempt()),
      (error: Error & { code: string }) =>
        error.code === 'invalid_request' && !error.message.includes('/proc/'),
      path,
    )
  }
})

test('a sparse file of 1 TiB can be read by range', async (t) => {
  const { space, home } = makeSpace(t)
  const size = 2 ** 40
  writeFileSync(join(home, 'sparse'), '')
  truncateSync(join(home, 'sparse'), size)
  appendFileSync(join(home, 'sparse'), 'end')
  const end = await readRange(space, { path: 'sparse', offset: size - 2 })
  assert.deepEqual(end, { size: size + 3, offset: size - 2, text: '\0\0end' })
})

test('files that could block a reader or a writer are refused', async (t) => {
  const { space, home } = makeSpace(t)
  execFileSync('mkfifo', [join(home, 'fifo')])
  const server = createServer().listen(join(home, 'socket'))
  await once(server, 'listening')
  t.after(() => server.close())
  symlinkSync('fifo', join(home, 'link'))
  for (const path of ['fifo', 'socket', 'link', '/dev/zero', '/dev/null', '/dev/tty']) {
    const code = 'invalid_request'
    await assert.rejects(openRange(space, { path, offset: 0 }), { code }, path)
    await assert.rejects(writeFile(space, { ...write, path }, bodyOf('')), { code }, path)
    const appending = { ...write, append: true, path }
    await assert.rejects(writeFile(space, appending, bodyOf('')), { code }, path)
  }
})

test('files of /proc and /sys are read with their true length and not written', async (t) => {
  const { space } = makeSpace(t)
  for (const path of ['/proc/version', '/sys/kernel/mm/transparent_hugepage/enabled']) {
    const { bytes, size, length } = await openRange(space, { path, offset: 0 })
    assert.equal(bytes!.toString(), readFileSync(path, 'utf8'))
    assert.deepEqual([size, length], [bytes!.length, bytes!.length])
  }
  const part = await openRange(space, { path: '/proc/version', offset: 2, length: 3 })
  assert.equal(part.bytes!.toString(), 'nux')
  for (const path of ['/proc/sys/kernel/hostname', '/sys/power/state', '/proc/new']) {
    for (const append of [true, false]) {
      const request = { ...write, append, path }
      await assert.rejects(writeFile(space, request, bodyOf('x')), { code: 'invalid_request' })
    }
  }
})

test('a list is paged by the bytes of the names, whatever they are', async (t) => {
  const { space, home } = makeSpace(t)
  const names = ['b', 'a', 'é', 'C', '\u{10000}', '\uffee'].map((name) => Buffer.from(name))
  names.push(
    Buffer.from([0x61, 0xe9]),
    ...Array.from({ length: 300 }, (_, n) => Buffer.from(`${n}`)),
  )
  for (const name of names) writeFileSync(Buffer.concat([Buffer.from(`${home}/`), name]), '')
  for (const limit of [20, 100]) {
    const seen: string[] = []
    let after: string | undefined
    do {
      const page = await listDirectory(space, { path: '.', limit, after })
      assert.ok(page.data.length <= limit)
      seen.push(...page.data.map((entry) => entry.name))
      after = page.next ?? undefined
    } while (after)
    assert.deepEqual(seen, names.toSorted(Buffer.compare).map(String))
  }
})

test('an entry has its type, its owner, and a path if the name is UTF-8', async (t) => {
  const { space, home } = makeSpace(t)
  symlinkSync('a', join(home, 'link'))
  mkdirSync(join(home, 'sticky'))
  execFileSync('chmod', ['1777', join(home, 'sticky')])
  writeFileSync(Buffer.concat([Buffer.from(`${home}/`), Buffer.from([0xff, 0x78])]), '123')
  const { data } = await listDirectory(space, { path: home, limit: 10 })
  const shown = data.map(({ name, path, type, mode, owner, target }) =>
    [name, path, type, mode, owner, target].join(),
  )
  assert.deepEqual(shown, [
    `link,${home}/link,symlink,0777,root,a`,
    `sticky,${home}/sticky,directory,1777,root,`,
    '\ufffdx,,file,0644,root,',
  ])
})

async function readRange(space: FileSpace, request: ReadRequest) {
  const { fd, size, offset, length } = await openRange(space, request)
  const bytes = Buffer.alloc(length)
  readSync(fd!, bytes, 0, length, offset)
  closeSync(fd!)
  return { size, offset, text: bytes.toString() }
}

function* failAfter(chunk: Buffer): Generator<Buffer> {
  yield chunk
  throw new Error('broken off')
}
