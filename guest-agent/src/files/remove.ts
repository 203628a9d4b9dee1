import { constants, fstatSync, openSync, closeSync } from 'node:fs'
import { opendir, rmdir, unlink } from 'node:fs/promises'
import { posix } from 'node:path'
import { Refusal } from '../refusal.ts'
import { naming } from './failure.ts'
import type { FileSpace } from './space.ts'
import { isMountPoint, mountOf, walkToTake } from './take.ts'
import { at, below, O_PATH, reopenable, type Entry } from './walk.ts'

export type RemoveRequest = { readonly path: string; readonly recursive: boolean }

/**
 * Removes a file, a link, or a directory, which must be empty unless `recursive`. What lies below is
 * taken by descriptors from directory to directory, so no symlink is followed whatever changes
 * meanwhile. When the signal aborts, what is left by then stays.
 */
export async function removeFile(
  space: FileSpace,
  { path, recursive }: RemoveRequest,
  signal: AbortSignal,
): Promise<void> {
  await naming(path, async () => {
    using place = walkToTake(space, path)
    const { directory, name, entry } = place
    // Awaited here: the place is closed on the way out.
    if (!entry.stats.isDirectory()) return await unlink(at(directory, name))
    if (recursive) {
      await empty(entry, { deny: space.deny, mount: mountOf(entry), signal })
    } else if ((await readNames(entry, 1)).length > 0) {
      throw new Refusal('conflict', `${place.path} is not empty; recursive removes what is in it`)
    }
    await rmdir(at(directory, name))
  })
}

type Removal = Pick<FileSpace, 'deny'> & { readonly mount: string; readonly signal: AbortSignal }

const namesAtOnce = 256

async function empty(directory: Entry, removal: Removal): Promise<void> {
  for (;;) {
    removal.signal.throwIfAborted()
    const names = await readNames(directory, namesAtOnce)
    if (names.length === 0) return
    // All are waited for: a descriptor is not closed while a call still goes through it.
    const unlinked = await Promise.allSettled(names.map((name) => unlink(below(directory, name))))
    for (const [index, outcome] of unlinked.entries()) {
      if (outcome.status === 'fulfilled' || isOf(outcome.reason, 'ENOENT')) continue
      if (!isOf(outcome.reason, 'EISDIR')) throw outcome.reason
      await removeDirectory(directory, names[index]!, removal)
    }
  }
}

async function removeDirectory(parent: Entry, name: Buffer, removal: Removal): Promise<void> {
  try {
    using directory = openDirectory(parent, name)
    if (mountOf(directory) !== removal.mount) throw isMountPoint(directory.path)
    const denied = removal.deny.look()
    denied.check(directory.path, directory.stats)
    denied.checkAbove(directory.path, directory.stats)
    await empty(directory, removal)
    await rmdir(below(parent, name))
  } catch (error) {
    // Something else has its name by now, or something is in it again: the next look finds it.
    if (!isOf(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENOTEMPTY')) throw error
  }
}

function openDirectory(parent: Entry, name: Buffer): Entry & Disposable {
  const { O_DIRECTORY, O_NOFOLLOW } = constants
  const fd = openSync(below(parent, name), O_PATH | O_DIRECTORY | O_NOFOLLOW)
  return {
    fd,
    path: posix.join(parent.path, name.toString('utf8')),
    stats: fstatSync(fd, { bigint: true }),
    [Symbol.dispose]: () => closeSync(fd),
  }
}

/** The first names of a directory, as the bytes they are: they need not be UTF-8. */
async function readNames(directory: Entry, limit: number): Promise<Buffer[]> {
  const names: Buffer[] = []
  // A byte of latin1 is a character.
  for await (const { name } of await opendir(reopenable(directory), { encoding: 'latin1' })) {
    names.push(Buffer.from(name, 'latin1'))
    if (names.length === limit) break
  }
  return names
}

function isOf(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException).code ?? '')
}
