import assert from 'node:assert/strict'
import { linkSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { listDirectory } from '../src/files/list.ts'
import { moveFile } from '../src/files/move.ts'
import { openRange } from '../src/files/read.ts'
import { removeFile } from '../src/files/remove.ts'
import type { FileSpace } from '../src/files/space.ts'
import { writeFile } from '../src/files/write.ts'
import { bodyOf, makeSpace, mount, type TestSpace } from './file-space.ts'

test('a denied path is refused in every spelling', async (t) => {
  const made = makeDenied(t)
  const { home, denied, secret } = made
  mkdirSync(join(home, 'x'))
  await assertRefused(made, [
    secret,
    `/${secret}`,
    `${dirname(secret)}//./${basename(secret)}`,
    `${home}/x/..//../../run/./denied/secret`,
    `../../run/denied/secret`,
    `${denied}/../../home/agent/file`,
    `${denied}/nothing/at/all`,
    denied,
    `${denied}/`,
    `${denied}/.`,
  ])
})

test('symlinks to a denied path are refused at every hop, even when they dangle', async (t) => {
  const made = makeDenied(t)
  const { home, denied, secret } = made
  symlinkSync(denied, join(home, 'directory'))
  symlinkSync('directory/secret', join(home, 'twice'))
  symlinkSync(secret, join(home, 'file-link'))
  symlinkSync(join(denied, 'gone'), join(home, 'dangling'))
  symlinkSync(join(denied, 'gone/deeper'), join(home, 'dangling-deeper'))
  symlinkSync('../../run', join(home, 'above'))
  symlinkSync(`${denied}/../../home/agent`, join(home, 'through'))
  await assertRefused(made, [
    'directory',
    'directory/',
    'directory/secret',
    'twice',
    'file-link',
    'dangling',
    'dangling-deeper',
    'above/denied/secret',
    'through/file',
    'directory/../../home/agent/file',
  ])
})

test('a denied file is refused under other names: hard link, bind mount, another /proc', async (t) => {
  const made = makeDenied(t)
  const { home, denied, secret } = made
  linkSync(secret, join(home, 'hard'))
  mkdirSync(join(denied, 'below'))
  writeFileSync(join(denied, 'below/secret'), 'secret')
  for (const name of ['whole', 'part', 'proc']) mkdirSync(join(home, name))
  writeFileSync(join(home, 'bound'), '')
  using _whole = mount(['--bind', denied], join(home, 'whole'))
  using _part = mount(['--bind', join(denied, 'below')], join(home, 'part'))
  using _file = mount(['--bind', secret], join(home, 'bound'))
  using _proc = mount(['-t', 'proc', 'proc'], join(home, 'proc'))
  await assertRefused(made, [
    'hard',
    'whole',
    'whole/secret',
    'part',
    'part/secret',
    'part/new',
    'bound',
    'proc',
    `proc/${process.pid}/environ`,
  ])
})

test('the files of processes are refused', async (t) => {
  const made = makeDenied(t)
  const { secret } = made
  symlinkSync('/proc/self/root', join(made.home, 'root'))
  const paths = [
    `/proc/self/root${secret}`,
    `/proc/thread-self/root${secret}`,
    `root${secret}`,
    '/proc/self/cwd',
    `/proc/self/task/${process.pid}/environ`,
    `/proc/${process.pid}/environ`,
    `/proc/${process.pid}/fd/0`,
    `/proc/${process.ppid}/root${secret}`,
    `/proc/${process.ppid}/cwd/x`,
    '/proc/1/root/etc/hostname',
    '/proc/1/mem',
    '/dev/fd/0',
    '/dev/stdin',
    '/proc/kcore',
  ]
  for (const pid of ownThreads()) paths.push(`/proc/${pid}/environ`)
  await assertRefused(made, paths)
})

test('a name that only resembles a denied one is allowed', async (t) => {
  const { space, denied } = makeDenied(t)
  const [folder, composed] = [dirname(denied), 'd\u00e9nied']
  for (const name of ['DENIED', 'denied ', 'denied2', 'den', composed, composed.normalize('NFD')]) {
    const path = join(folder, name, 'file')
    await writeFile(space, { path, append: false, createParents: true }, bodyOf(name))
    const { data } = await listDirectory(space, { path: dirname(path), limit: 5 })
    assert.deepEqual(
      data.map(({ size }) => size),
      [Buffer.byteLength(name)],
    )
  }
})

test('paths of any length and shape get a definite error', async (t) => {
  const { space, home } = makeDenied(t)
  symlinkSync('circle', join(home, 'circle'))
  symlinkSync('.', join(home, 'here'))
  symlinkSync('a/'.repeat(2000), join(home, 'long'))
  symlinkSync(Buffer.from([0xff]), join(home, 'latin'))
  for (const [path, code] of [
    ['x'.repeat(256), 'invalid_request'],
    ['x/'.repeat(2000), 'not_found'],
    ['./'.repeat(100_000) + 'x', 'not_found'],
    ['../'.repeat(100_000), 'invalid_request'],
    ['here/'.repeat(41), 'invalid_request'],
    ['circle', 'invalid_request'],
    ['long', 'not_found'],
    ['latin', 'invalid_request'],
    ['a\0', 'invalid_request'],
  ] as const) {
    await assert.rejects(openRange(space, { path, offset: 0 }), { code }, path.slice(0, 20))
  }
})

type DeniedSpace = TestSpace & { readonly secret: string }

function makeDenied(t: Parameters<typeof makeSpace>[0]): DeniedSpace {
  const made = makeSpace(t)
  const secret = join(made.denied, 'secret')
  writeFileSync(secret, 'secret')
  writeFileSync(join(made.home, 'file'), 'file')
  return { ...made, secret }
}

/** Every call must be refused and leave no trace. */
async function assertRefused({ space, denied }: DeniedSpace, paths: readonly string[]) {
  const before = readdirSync(denied, { recursive: true })
  for (const path of paths) {
    for (const [name, call] of Object.entries(calls)) {
      const code = 'permission_denied'
      await assert.rejects(async () => call(space, path), { code }, `${name} ${path}`)
    }
  }
  assert.deepEqual(readdirSync(denied, { recursive: true }), before)
}

const calls: Readonly<Record<string, (space: FileSpace, path: string) => Promise<unknown>>> = {
  list: (space, path) => listDirectory(space, { path, limit: 1 }),
  read: (space, path) => openRange(space, { path, offset: 0 }),
  write: (space, path) =>
    writeFile(space, { path, append: false, createParents: true }, bodyOf('x')),
  append: (space, path) =>
    writeFile(space, { path, append: true, createParents: false }, bodyOf('x')),
  remove: (space, path) =>
    removeFile(space, { path, recursive: true }, new AbortController().signal),
  'move away': (space, path) => moveFile(space, { from: path, to: 'taken', overwrite: true }),
  'move there': (space, path) => moveFile(space, { from: 'file', to: path, overwrite: true }),
}

function ownThreads(): string[] {
  return readdirSync('/proc/self/task')
}
