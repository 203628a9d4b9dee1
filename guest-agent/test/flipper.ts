import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { randomOf } from './random.ts'

/*
 * A thread of files-flipping.test.ts. Until it is terminated, it keeps changing names between
 * something harmless and a way to a denied file.
 */

export type FlipperData = {
  readonly home: string
  readonly denied: string
  readonly seed: number
}

const { home, denied, seed } = workerData as FlipperData
const random = randomOf(seed)
const secret = join(denied, 'secret')
const own = join(home, `flipper-${seed}`)
const spare = join(own, 'spare')
mkdirSync(own)
mkdirSync(join(own, 'directory'))
execFileSync('mkfifo', [join(own, 'fifo')])

const links = ['safe', denied, '../../run', join(denied, 'gone'), 'link', 'nowhere', 'swapped']

/** One change each. A change may fail because another thread was faster. */
const flips: readonly (() => void)[] = [
  () => replace('link', () => symlinkSync(pick(links), spare)),
  () => replace('file', () => writeFileSync(spare, 'harmless')),
  () =>
    replace('file', () => symlinkSync(pick([secret, 'safe/file', join(denied, 'gone')]), spare)),
  () => replace('file', () => linkSync(secret, spare)),
  () => replace('file', () => linkSync(join(own, 'fifo'), spare)),
  // A directory becomes a link while a caller walks through it.
  () => renameSync(join(home, 'swapped'), join(own, 'directory/away')),
  () => renameSync(join(own, 'directory/away'), join(home, 'swapped')),
  () => mkdirSync(join(home, 'swapped')),
  () => symlinkSync(pick([denied, 'safe', '../../run']), join(home, 'swapped')),
  () => replace('swapped', () => symlinkSync(pick([denied, 'safe']), spare)),
  // The same during a removal. Nothing is created through a name that may have become a link.
  () => mkdirSync(join(home, 'tree')),
  () => renameSync(makeDirectory(), join(home, 'tree/below')),
  () => renameSync(join(home, 'tree/below'), join(own, 'directory/below')),
  () => rmSync(join(own, 'directory/below'), { recursive: true }),
  () => symlinkSync(denied, join(home, 'tree/below')),
  () => symlinkSync(denied, join(home, 'tree/link')),
  () => replace('safe/file', () => writeFileSync(spare, 'harmless')),
]

parentPort!.postMessage('flipping')
const never = new Int32Array(new SharedArrayBuffer(4))
for (let count = 0; ; count++) {
  // Leaves processor time to the callers.
  if (count % 8 === 0) Atomics.wait(never, 0, 0, 0.1)
  try {
    pick(flips)()
  } catch {
    // Its names were taken or removed.
  }
  // A rename onto another name of the same file leaves it behind.
  rmSync(spare, { recursive: true, force: true })
}

/** Replaces the name atomically. */
function replace(name: string, make: () => void): void {
  make()
  renameSync(spare, join(home, name))
}

function makeDirectory(): string {
  mkdirSync(spare)
  mkdirSync(join(spare, 'deep'))
  writeFileSync(join(spare, 'deep/file'), 'harmless')
  return spare
}

function pick<T>(from: readonly T[]): T {
  return from[random() % from.length]!
}
