import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { moveFile, type MoveRequest } from '../src/files/move.ts'
import { removeFile } from '../src/files/remove.ts'
import { makeSpace, mount } from './file-space.ts'

test('files, links, fifos and empty directories are removed; full ones only recursively', async (t) => {
  const { home, remove } = makeCalls(t)
  mkdirSync(join(home, 'full/deep/deeper'), { recursive: true })
  writeFileSync(join(home, 'full/deep/deeper/file'), 'x')
  writeFileSync(join(home, 'kept'), 'kept')
  symlinkSync('kept', join(home, 'link'))
  symlinkSync('circle', join(home, 'circle'))
  symlinkSync('nowhere', join(home, 'dangling'))
  execFileSync('mkfifo', [join(home, 'fifo')])
  mkdirSync(join(home, 'empty'))

  await assert.rejects(remove('full'), { code: 'conflict', message: /recursive/ })
  for (const path of ['link', 'circle', 'dangling', 'fifo', 'empty/', 'full/deep/deeper/file']) {
    await remove(path)
    await assert.rejects(remove(path), { code: 'not_found' }, path)
  }
  await assert.rejects(remove('kept/'), { code: 'invalid_request' })
  await remove('full', true)
  assert.deepEqual(readdirSync(home), ['kept'])
})

test('a tree is removed with names that are not UTF-8, but without the targets of its links', async (t) => {
  const { home, remove } = makeCalls(t)
  const outside = join(dirname(home), 'outside')
  mkdirSync(outside)
  writeFileSync(join(outside, 'kept'), 'kept')
  mkdirSync(join(home, 'tree'))
  for (let index = 0; index < 1000; index++) writeFileSync(join(home, 'tree', `${index}`), 'x')
  const latin = Buffer.concat([Buffer.from(join(home, 'tree/')), Buffer.from([0xe9])])
  mkdirSync(latin)
  writeFileSync(Buffer.concat([latin, Buffer.from([0x2f, 0xff])]), 'x')
  symlinkSync(outside, join(home, 'tree/link'))
  symlinkSync('/', join(home, 'tree/root'))
  await remove('tree', true)
  assert.deepEqual(readdirSync(home), [])
  assert.deepEqual(readdirSync(outside), ['kept'])
})

test('the root, the home and its ancestors cannot be removed', async (t) => {
  const { home, remove, move } = makeCalls(t)
  symlinkSync('.', join(home, 'here'))
  for (const path of [
    '/',
    '.',
    '',
    home,
    dirname(home),
    '..',
    'here/.',
    'here/',
    '/proc',
    '/dev',
  ]) {
    await assert.rejects(remove(path, true), { code: 'invalid_request' }, path)
    await assert.rejects(move(path, 'moved'), { code: 'invalid_request' }, path)
  }
  assert.deepEqual(readdirSync(home), ['here'])
})

test('denied files, their ancestors and other names are neither removed nor moved', async (t) => {
  const { home, denied, remove, move } = makeCalls(t)
  const secret = join(denied, 'secret')
  writeFileSync(secret, 'secret')
  writeFileSync(join(home, 'file'), 'file')
  linkSync(secret, join(home, 'hard'))
  symlinkSync(secret, join(home, 'soft'))
  symlinkSync(join(denied, 'gone'), join(home, 'dangling'))
  symlinkSync(dirname(denied), join(home, 'above'))
  const closed = [
    secret,
    denied,
    dirname(denied),
    'hard',
    'soft',
    'dangling',
    'above/',
    'above/denied',
  ]
  for (const path of closed) {
    const code = 'permission_denied'
    await assert.rejects(remove(path, true), { code }, path)
    await assert.rejects(move(path, 'moved'), { code }, path)
    await assert.rejects(move('file', path, true), { code }, path)
  }
  await assert.rejects(move('file', 'above/denied/file'), { code: 'permission_denied' })
  assert.deepEqual(readdirSync(denied), ['secret'])
  assert.equal(readFileSync(secret, 'utf8'), 'secret')
})

test('a mount point is not removed, nor entered when a tree is removed', async (t) => {
  const { home, remove, move } = makeCalls(t)
  mkdirSync(join(home, 'tree/mount'), { recursive: true })
  mkdirSync(join(home, 'other'))
  writeFileSync(join(home, 'other/file'), 'x')
  using _ = mount(['--bind', join(home, 'other')], join(home, 'tree/mount'))
  for (const path of ['tree', 'tree/mount']) {
    await assert.rejects(remove(path, true), { code: 'invalid_request', message: /mount point/ })
  }
  await assert.rejects(move('tree/mount', 'moved'), { code: 'invalid_request' })
  assert.deepEqual(readdirSync(join(home, 'other')), ['file'])
})

test('a move is atomic and does not replace an existing name', async (t) => {
  const { home, move } = makeCalls(t)
  writeFileSync(join(home, 'a'), 'a')
  writeFileSync(join(home, 'b'), 'b')
  mkdirSync(join(home, 'full/sub'), { recursive: true })
  mkdirSync(join(home, 'bare'))
  symlinkSync('b', join(home, 'link'))

  await assert.rejects(move('a', 'b'), { code: 'conflict', message: /overwrite/ })
  await assert.rejects(move('a', 'link'), { code: 'conflict' })
  await assert.rejects(move('bare', 'full', true), { code: 'conflict' })
  await assert.rejects(move('a', 'bare', true), { code: 'conflict' })
  await assert.rejects(move('full', 'a', true), { code: 'conflict' })
  await assert.rejects(move('full', 'full/sub/in'), { code: 'invalid_request' })
  await assert.rejects(move('a', 'new/'), { code: 'invalid_request' })
  await assert.rejects(move('a', 'nowhere/a'), { code: 'not_found' })

  assert.deepEqual(await move('a', 'c'), { path: join(home, 'c') })
  assert.deepEqual(await move('link', 'moved'), { path: join(home, 'moved') })
  assert.equal(readlinkSync(join(home, 'moved')), 'b')
  await move('c', 'b', true)
  assert.equal(readFileSync(join(home, 'b'), 'utf8'), 'a')
  const { ino } = lstatSync(join(home, 'full'))
  await move('full', 'bare', true)
  assert.equal(lstatSync(join(home, 'bare')).ino, ino)
  await move('bare', 'free')
  assert.deepEqual(readdirSync(join(home, 'free')), ['sub'])
  assert.deepEqual(readdirSync(home), ['b', 'free', 'moved'])
})

test('a move to another file system fails with that reason', async (t) => {
  const { home, move } = makeCalls(t)
  mkdirSync(join(home, 'mount'))
  using _ = mount(['-t', 'tmpfs', 'none'], join(home, 'mount'))
  writeFileSync(join(home, 'file'), 'x')
  mkdirSync(join(home, 'directory'))
  for (const path of ['file', 'directory']) {
    for (const overwrite of [true, false]) {
      const code = 'unsupported_operation'
      await assert.rejects(move(path, `mount/${path}`, overwrite), { code }, path)
    }
  }
  assert.deepEqual(readdirSync(join(home, 'mount')), [])
})

test('an aborted removal stops', async (t) => {
  const { space, home } = makeSpace(t)
  mkdirSync(join(home, 'tree/sub'), { recursive: true })
  const signal = AbortSignal.abort(new Error('the caller hung up'))
  const request = { path: 'tree', recursive: true }
  await assert.rejects(removeFile(space, request, signal), /hung up/)
  assert.ok(existsSync(join(home, 'tree/sub')))
})

function makeCalls(t: TestContext) {
  const made = makeSpace(t)
  const { signal } = new AbortController()
  return {
    ...made,
    remove: (path: string, recursive = false) =>
      removeFile(made.space, { path, recursive }, signal),
    move: (from: MoveRequest['from'], to: MoveRequest['to'], overwrite = false) =>
      moveFile(made.space, { from, to, overwrite }),
  }
}
