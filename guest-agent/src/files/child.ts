import { closeSync, constants, fstatSync, openSync } from 'node:fs'
import { posix } from 'node:path'
import type { FileSpace } from './space.ts'
import { checkFileSystem, childPath, O_PATH, openIfPresent, realPath, type Entry } from './walk.ts'

export type OpenChild = Entry & Disposable

/**
 * Opens a name in an open directory, for work on whole folders: a symlink is opened itself, and never
 * followed. The directory, wherever it is by now, and what is found are checked as in a walk.
 * Undefined if there is nothing of that name.
 */
export function openChild(
  { deny }: Pick<FileSpace, 'deny'>,
  directory: Entry,
  name: string,
): OpenChild | undefined {
  const path = posix.join(directory.path, name)
  deny.checkPath(path)
  const fd = openIfPresent(() =>
    openSync(childPath(directory, name), O_PATH | constants.O_NOFOLLOW),
  )
  if (fd === undefined) {
    deny.checkPath(posix.join(realPath(directory), name))
    return undefined
  }
  try {
    const entry = { fd, path, stats: fstatSync(fd, { bigint: true }) }
    deny.snapshot().check(path, entry.stats)
    if (entry.stats.dev !== directory.stats.dev) checkFileSystem(entry)
    deny.checkPath(realPath(entry))
    return { ...entry, [Symbol.dispose]: () => closeSync(fd) }
  } catch (error) {
    closeSync(fd)
    throw error
  }
}
