import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { listDirectory, openRange } from '../src/files/files.ts'
import { writeFile } from '../src/files/write.ts'
import { bodyOf, makeSpace } from './file-space.ts'

const write = { append: false, createParents: true }

test('a write makes the directories on its way and replaces the file at once', async (t) => {
  const { space, home } = makeSpace(t)
  const request = { ...write, path: 'a/b/c.txt' }
  const first = await writeFile(space, { ...request, mode: 0o600 }, bodyOf('one'))
  assert.deepEqual(first, { path: join(home, 'a/b/c.txt'), size: 3 })

  const broken = { ...bodyOf(''), stream: Readable.from(failAfter(Buffer.from('half'))) }
  await assert.rejects(writeFile(space, request, broken), /broken off/)
  const cut = { ...bodyOf('half'), isWhole: () => false }
  await assert.rejects(writeFile(space, request, cut), /cut off/)
  assert.equal(readFileSync(join(home, 'a/b/c.txt'), 'utf8'), 'one')
  assert.deepEqual(readdirSync(join(home, 'a/b')), ['c.txt'])

  await writeFile(space, request, bodyOf('three'))
  assert.equal(readFileSync(join(home, 'a/b/c.txt'), 'utf8'), 'three')
  assert.equal(statSync(join(home, 'a/b/c.txt')).mode & 0o777, 0o600)
  const appended = await writeFile(space, { ...request, append: true }, bodyOf('!'))
  assert.equal(appended.size, 6)
})

test('new files belong to their directory, and to the user in a directory open to all', async (t) => {
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

test('a range is cut to the file; missing, directory and device are told apart', async (t) => {
  const { space, home } = makeSpace(t)
  writeFileSync(join(home, 'f'), '0123456789')
  const range = await openRange(space, { path: 'f', offset: 7, length: 100 })
  t.after(() => closeSync(range.fd!))
  assert.deepEqual([range.size, range.offset, range.length], [10, 7, 3])
  const bytes = Buffer.alloc(3)
  readSync(range.fd!, bytes, 0, 3, 7)
  assert.equal(bytes.toString(), '789')

  execFileSync('mkfifo', [join(home, 'fifo')])
  const refusals = { nope: 'not_found', '.': 'invalid_request', fifo: 'invalid_request' }
  for (const [path, code] of Object.entries({ ...refusals, '/dev/zero': 'invalid_request' })) {
    await assert.rejects(openRange(space, { path, offset: 0 }), { code }, path)
  }
  const version = await openRange(space, { path: '/proc/version', offset: 0 })
  assert.match(version.bytes!.toString(), /^Linux/)
})

test('a list is ordered by name and cut into pages', async (t) => {
  const { space, home } = makeSpace(t)
  for (const name of ['b', 'a', 'é', 'C']) writeFileSync(join(home, name), name)
  symlinkSync('a', join(home, 'link'))
  const first = await listDirectory(space, { path: '.', limit: 3 })
  assert.deepEqual([first.data.map(({ name }) => name), first.has_more], [['C', 'a', 'b'], true])
  const second = await listDirectory(space, { path: home, limit: 3, after: 'b' })
  assert.deepEqual([second.data.map(({ name }) => name), second.has_more], [['link', 'é'], false])
  assert.deepEqual([second.data[0]!.type, second.data[0]!.target], ['symlink', 'a'])
})

test('denied paths stay closed by name, by symlink, dangling, and through /proc', async (t) => {
  const { space, home, denied } = makeSpace(t)
  writeFileSync(join(denied, 'secret'), 'secret')
  symlinkSync(denied, join(home, 'a'))
  symlinkSync('a/secret', join(home, 'b'))
  symlinkSync(join(denied, 'gone'), join(home, 'dangling'))
  const paths = [
    join(denied, 'secret'),
    `${home}/x/..//../../run/./${denied.split('/').at(-1)}/secret`,
    'a/secret',
    'b',
    'dangling',
    `/proc/self/root${denied}/secret`,
    `/proc/${process.pid}/environ`,
    `/proc/${process.ppid}/root${denied}/secret`,
    '/dev/fd/0',
  ]
  mkdirSync(join(home, 'x'))
  for (const path of paths) {
    const code = 'permission_denied'
    await assert.rejects(openRange(space, { path, offset: 0 }), { code }, path)
    await assert.rejects(writeFile(space, { ...write, path }, bodyOf('')), { code }, path)
  }
  await assert.rejects(listDirectory(space, { path: 'a', limit: 1 }), { code: 'permission_denied' })
  assert.deepEqual(readdirSync(denied), ['secret'])
})

function* failAfter(chunk: Buffer): Generator<Buffer> {
  yield chunk
  throw new Error('broken off')
}
