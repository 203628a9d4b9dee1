import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Readable } from 'node:stream'
import { Worker } from 'node:worker_threads'
import { soakSeed, soakSize } from '../../scripts/soak/sizes.ts'
import { encodeTarHeader, tarEnd, tarPadding } from '@computer/contract/tar'
import { archiveDirectory } from '../src/files/archive.ts'
import { extractArchive } from '../src/files/extract.ts'
import { listDirectory } from '../src/files/list.ts'
import { moveFile } from '../src/files/move.ts'
import { openRange } from '../src/files/read.ts'
import { removeFile } from '../src/files/remove.ts'
import { writeFile } from '../src/files/write.ts'
import { AgentError } from '../src/errors.ts'
import { bodyOf, makeSpace } from './file-space.ts'
import type { FlipperData } from './flipper.ts'
import { randomOf } from './random.ts'

/*
 * Threads keep changing what the names in a home point to while the file routes use them. No denied
 * file may be read, listed, changed or removed, and no call may block.
 */

const { tries } = soakSize('flipping')
const seed = soakSeed(1)
const atOnce = 64

const { space, home, denied } = makeSpace({ after })
const secret = join(denied, 'secret')
const flippers: Worker[] = []

before(async () => {
  writeFileSync(secret, 'SECRET')
  // No call creates a file of this name.
  writeFileSync(join(denied, 'marker'), '')
  mkdirSync(join(home, 'safe'))
  writeFileSync(join(home, 'safe/file'), 'harmless')
  for (const index of [1, 2]) {
    const workerData: FlipperData = { home, denied, seed: seed * 10 + index }
    const flipper = new Worker(new URL('./flipper.ts', import.meta.url), { workerData })
    flippers.push(flipper)
    await once(flipper, 'message')
  }
})
// Must run before the folder is removed.
const stopFlipping = () => Promise.all(flippers.splice(0).map((flipper) => flipper.terminate()))

test('checking a path before opening it does not protect the file', () => {
  for (;;) {
    try {
      const path = join(home, 'file')
      const { nlink } = statSync(path)
      if (nlink > 1 || realpathSync(path).startsWith(denied)) continue
      const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
      const bytes = readBytes(fd, 100)
      if (bytes.includes('SECRET')) return
    } catch {
      // It was removed between two of the calls.
    }
  }
})

test('no call of the file routes reaches a denied file', async (t) => {
  t.after(stopFlipping)
  const random = randomOf(seed)
  const pick = <T>(from: readonly T[]): T => from[random() % from.length]!
  const outcomes = new Map<string, Record<'done' | 'denied' | 'failed', number>>()

  let done = 0
  for (; done < tries; done += atOnce) {
    const batch = Array.from({ length: atOnce }, async () => {
      const name = pick(callNames)
      const path = pick(paths)
      const outcome = outcomes.get(name) ?? { done: 0, denied: 0, failed: 0 }
      outcomes.set(name, outcome)
      try {
        await calls[name](path)
        outcome.done += 1
      } catch (error) {
        if (!(error instanceof AgentError)) throw new Error(`${name} ${path}`, { cause: error })
        outcome[error.code === 'permission_denied' ? 'denied' : 'failed'] += 1
      }
    })
    const failure = (await Promise.allSettled(batch)).find(({ status }) => status === 'rejected')
    if (failure) throw (failure as PromiseRejectedResult).reason
  }

  t.diagnostic(`${done} calls`)
  await stopFlipping()
  assert.deepEqual(readdirSync(denied), ['marker', 'secret'])
  assert.equal(readFileSync(secret, 'utf8'), 'SECRET')
  // The run only counts if each kind of call has both succeeded and been refused.
  for (const [name, outcome] of outcomes) {
    t.diagnostic(`${name}: ${JSON.stringify(outcome)}`)
    assert.ok(outcome.done > 0 && outcome.denied > 0, `${name} ${JSON.stringify(outcome)}`)
  }
})

const paths = [
  'link',
  'link/secret',
  'link/denied/secret',
  'link/file',
  'link/new',
  'file',
  'swapped',
  'swapped/',
  'swapped/secret',
  'swapped/new',
  'swapped/../../../run/denied/secret',
  'tree',
  'tree/below',
  'tree/below/secret',
  'tree/link/secret',
  'safe/file',
  'safe/../file',
]

/** Names that lead into the denied directory while a flipper makes them links to it. */
const archive = Buffer.concat([
  ...['secret', 'file', 'below/secret', 'link/secret', 'safe/file', 'swapped/secret'].flatMap(
    (path) => [
      encodeTarHeader({ type: 'file', path, mode: 0o644, size: 1 }),
      Buffer.from('x'),
      tarPadding(1),
    ],
  ),
  encodeTarHeader({ type: 'symlink', path: 'soft', target: denied }),
  tarEnd,
])

let takenCount = 0
const create = { append: false, createParents: true }
const { signal } = new AbortController()
const calls = {
  async list(path: string) {
    const { data } = await listDirectory(space, { path, limit: 100 })
    const names = data.map(({ name }) => name)
    assert.ok(!names.includes('marker'), `${path} listed a denied directory`)
  },
  async read(path: string) {
    const { fd, length } = await openRange(space, { path, offset: 0 })
    const bytes = readBytes(fd!, length)
    assert.ok(!bytes.includes('SECRET'), `${path} disclosed the secret`)
  },
  write: (path: string) => writeFile(space, { ...create, path }, bodyOf('x')),
  append: (path: string) => writeFile(space, { ...create, append: true, path }, bodyOf('x')),
  async archive(path: string) {
    const chunks: Buffer[] = []
    for await (const chunk of await archiveDirectory(space, path)) chunks.push(chunk)
    const bytes = Buffer.concat(chunks)
    assert.ok(!bytes.includes('SECRET'), `${path} disclosed the secret in an archive`)
    assert.ok(!bytes.includes('marker'), `${path} archived a denied directory`)
  },
  async extract(path: string) {
    await extractArchive(space, path, Readable.from([archive], { objectMode: false }))
  },
  remove: (path: string) => removeFile(space, { path, recursive: true }, signal),
  moveAway: async (path: string) => {
    const to = `taken-${takenCount++}`
    await moveFile(space, { from: path, to, overwrite: false })
    try {
      rmSync(join(home, to), { recursive: true })
    } catch (error) {
      // A call that opened the tree before the move may still create files in it.
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error
    }
  },
  moveThere: async (path: string) => {
    writeFileSync(join(home, 'given'), 'x')
    await moveFile(space, { from: 'given', to: path, overwrite: false })
  },
  moveOver: async (path: string) => {
    writeFileSync(join(home, 'given'), 'x')
    await moveFile(space, { from: 'given', to: path, overwrite: true })
  },
} as const satisfies Record<string, (path: string) => Promise<unknown>>
const callNames = Object.keys(calls) as (keyof typeof calls)[]

function readBytes(fd: number, length: number): Buffer {
  try {
    const bytes = Buffer.alloc(length)
    return bytes.subarray(0, readSync(fd, bytes, 0, length, 0))
  } finally {
    closeSync(fd)
  }
}
