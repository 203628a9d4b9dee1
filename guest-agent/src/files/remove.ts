import { constants, fstatSync, openSync, closeSync } from 'node:fs'
import { opendir, rmdir, unlink } from 'node:fs/promises'
import { posix } from 'node:path'
import { AgentError } from '../errors.ts'
import { mapFileErrors } from './errors.ts'
import type { FileSpace } from './space.ts'
import { mountPointError, mountOf, openRemovable } from './removable.ts'
import { childPath, childPathBytes, O_PATH, fdPath, type Entry } from './walk.ts'

type RemoveRequest = { readonly path: string; readonly recursive: boolean }

/**
 * Removes a file, a link, or a directory, which must be empty unless `recursive`. It descends by
 * descriptors, so no symlink is followed whatever changes meanwhile. When the signal aborts, it
 * stops and leaves the rest.
 */
export async function removeFile(
  space: FileSpace,
  { path, recursive }: RemoveRequest,
  signal: AbortSignal,
): Promise<void> {
  await mapFileErrors(path, async () => {
    using opened = openRemovable(space, path)
    const { directory, name, entry } = opened
    // Awaited here, because the descriptors are closed on return.
    if (!entry.stats.isDirectory()) return await unlink(childPath(directory, name))
    if (recursive) {
      await empty(entry, { deny: space.deny, mount: mountOf(entry), signal })
    } else if ((await readNames(entry, 1)).length > 0) {
      throw new AgentError('conflict', `${opened.path} is not empty; set recursive to remove it`)
    }
    await rmdir(childPath(directory, name))
  })
}

type Removal = Pick<FileSpace, 'deny'> & { readonly mount: string; readonly signal: AbortSignal }

const namesAtOnce = 256

async function empty(directory: Entry, removal: Removal): Promise<void> {
  for (;;) {
    removal.signal.throwIfAborted()
    const names = await readNames(directory, namesAtOnce)
    if (names.length === 0) return
    // Waits for all, so that no descriptor is closed while a call still uses it.
    const unlinked = await Promise.allSettled(
      names.map((name) => unlink(childPathBytes(directory, name))),
    )
    for (const [index, outcome] of unlinked.entries()) {
      if (outcome.status === 'fulfilled' || hasCode(outcome.reason, 'ENOENT')) continue
      if (!hasCode(outcome.reason, 'EISDIR')) throw outcome.reason
      await removeDirectory(directory, names[index]!, removal)
    }
  }
}

async function removeDirectory(parent: Entry, name: Buffer, removal: Removal): Promise<void> {
  try {
    using directory = openDirectory(parent, name)
    if (mountOf(directory) !== removal.mount) throw mountPointError(directory.path)
    const denied = removal.deny.snapshot()
    denied.check(directory.path, directory.stats)
    denied.checkAbove(directory.path, directory.stats)
    await empty(directory, removal)
    await rmdir(childPathBytes(parent, name))
  } catch (error) {
    // It was replaced or refilled in the meantime: the caller's next pass handles it.
    if (!hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENOTEMPTY')) throw error
  }
}

function openDirectory(parent: Entry, name: Buffer): Entry & Disposable {
  const { O_DIRECTORY, O_NOFOLLOW } = constants
  const fd = openSync(childPathBytes(parent, name), O_PATH | O_DIRECTORY | O_NOFOLLOW)
  return {
    fd,
    path: posix.join(parent.path, name.toString('utf8')),
    stats: fstatSync(fd, { bigint: true }),
    [Symbol.dispose]: () => closeSync(fd),
  }
}

/** The first names of a directory, as bytes: they need not be UTF-8. */
async function readNames(directory: Entry, limit: number): Promise<Buffer[]> {
  const names: Buffer[] = []
  // latin1 maps each byte to a character.
  for await (const { name } of await opendir(fdPath(directory), { encoding: 'latin1' })) {
    names.push(Buffer.from(name, 'latin1'))
    if (names.length === limit) break
  }
  return names
}

function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException).code ?? '')
}
