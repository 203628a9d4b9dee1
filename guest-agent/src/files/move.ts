import { link, lstat, mkdir, rename, rmdir, unlink } from 'node:fs/promises'
import { invalid, Refusal } from '../refusal.ts'
import { naming } from './failure.ts'
import type { FileSpace } from './space.ts'
import { checkTakeable, walkToName, walkToTake } from './take.ts'
import { at, namesDirectory } from './walk.ts'

export type MoveRequest = {
  readonly from: string
  readonly to: string
  readonly overwrite: boolean
}

/**
 * Gives a file, a link or a directory another name on the same file system. `to` is that name, never
 * a directory to move into. With `overwrite` it replaces at once what has the name, if that is no
 * directory with something in it.
 */
export async function moveFile(
  space: FileSpace,
  { from, to, overwrite }: MoveRequest,
): Promise<{ path: string }> {
  return naming(from, async () => {
    using source = walkToTake(space, from)
    using target = walkToName(space, to)
    const isDirectory = source.entry.stats.isDirectory()
    if (target.entry) {
      const { entry } = target
      if (!overwrite) throw exists(target.path)
      checkTakeable(space, { directory: target.directory, entry })
      if (entry.stats.isDirectory() !== isDirectory) {
        const kind = isDirectory ? 'not a directory' : 'a directory'
        throw new Refusal('conflict', `${target.path} is ${kind}`)
      }
    }
    if (namesDirectory(to) && !isDirectory) throw invalid(`${to} names a directory`)
    const names = [at(source.directory, source.name), at(target.directory, target.name)] as const
    if (overwrite) await rename(...names)
    else if (isDirectory) await moveDirectory(...names)
    else await moveOther(...names)
    return { path: target.path }
  })
}

/*
 * To a name that is free. The kernel is asked to make it, which it does for one caller only; of others
 * it says EEXIST.
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
  // Something new that has got the old name meanwhile keeps it.
  const [before, after] = await Promise.all([lstat(from), lstat(to)])
  if (before.ino === after.ino) await unlink(from)
}

function exists(path: string): Refusal {
  return new Refusal('conflict', `${path} exists already; overwrite replaces it`)
}
