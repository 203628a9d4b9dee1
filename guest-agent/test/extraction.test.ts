import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { encodeTarHeader, tarEnd, type TarEntry } from '@computer/contract/tar'
import { makeSpace, mount } from './file-space.ts'
import { extract, file, pack } from './packed-archives.ts'

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
