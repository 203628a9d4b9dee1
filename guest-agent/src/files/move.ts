import { link, lstat, mkdir, rename, rmdir, unlink } from 'node:fs/promises'
import { AgentError, invalidRequest } from '../errors.ts'
import { mapFileErrors } from './errors.ts'
import type { FileSpace } from './space.ts'
import { checkRemovable, openName, openRemovable } from './removable.ts'
import { childPath, namesDirectory } from './walk.ts'

export type MoveRequest = {
  readonly from: string
  readonly to: string
  readonly overwrite: boolean
}

/**
 * Renames a file, link or directory within a file system. `to` is the new name, never a directory
 * to move into. With `overwrite` it atomically replaces what has that name, unless that is a
 * directory with entries.
 */
export async function moveFile(
  space: FileSpace,
  { from, to, overwrite }: MoveRequest,
): Promise<{ path: string }> {
  return mapFileErrors(from, async () => {
    using source = openRemovable(space, from)
    using target = openName(space, to)
    const isDirectory = source.entry.stats.isDirectory()
    if (target.entry) {
      const { entry } = target
      if (!overwrite) throw exists(target.path)
      checkRemovable(space, { directory: target.directory, entry })
      if (entry.stats.isDirectory() !== isDirectory) {
        const kind = isDirectory ? 'not a directory' : 'a directory'
        throw new AgentError('conflict', `${target.path} is ${kind}`)
      }
    }
    if (namesDirectory(to) && !isDirectory) throw invalidRequest(`${to} names a directory`)
    const names = [
      childPath(source.directory, source.name),
      childPath(target.directory, target.name),
    ] as const
    if (overwrite) await rename(...names)
    else if (isDirectory) await moveDirectory(...names)
    else await moveOther(...names)
    return { path: target.path }
  })
}

/*
 * Without overwrite the kernel creates the new name exclusively (mkdir, link), so that of
 * concurrent callers one succeeds and the others get EEXIST.
 */

async function moveDirectory(from: string, to: string): Promise<void> {
  await mkdir(to)
  try {
    await rename(from, to)
  } catch (error) {
    await rmdir(to).catch(() => {})
    throw error
  }
}

async function moveOther(from: string, to: string): Promise<void> {
  await link(from, to)
  // If another file has got the old name in the meantime, it stays.
  const [before, after] = await Promise.all([lstat(from), lstat(to)])
  if (before.ino === after.ino) await unlink(from)
}

function exists(path: string): AgentError {
  return new AgentError('conflict', `${path} exists already; set overwrite to replace it`)
}
