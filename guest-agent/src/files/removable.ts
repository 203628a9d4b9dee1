import { readFileSync, statSync } from 'node:fs'
import { posix } from 'node:path'
import { AgentError, invalidRequest } from '../errors.ts'
import { identityOf } from './deny.ts'
import { openPath, type FileSpace } from './space.ts'
import { notFound, type Entry, type OpenPath } from './walk.ts'

type RemovablePath = Disposable & Pick<OpenPath, 'directory' | 'name' | 'path'> & { entry: Entry }

/** Opens a path to remove, move or replace. Does not follow a symlink, but checks its target. */
export function openRemovable(space: FileSpace, path: string): RemovablePath {
  const opened = openName(space, path)
  try {
    if (!hasEntry(opened)) throw notFound(opened.path)
    checkRemovable(space, opened)
    return opened
  } catch (error) {
    opened[Symbol.dispose]()
    throw error
  }
}

/** Opens a name that need not exist, without following it if it is a symlink. */
export function openName(space: FileSpace, path: string): OpenPath {
  const opened = openPath(space, path, { keepLastLink: true })
  try {
    if (opened.entry?.stats.isSymbolicLink()) checkTarget(space, path)
    return opened
  } catch (error) {
    opened[Symbol.dispose]()
    throw error
  }
}

export function checkRemovable(
  space: FileSpace,
  { directory, entry }: Pick<RemovablePath, 'directory' | 'entry'>,
): void {
  if (!entry.stats.isDirectory()) return
  if (entry.path === '/') throw invalidRequest('/ cannot be removed or moved')
  space.deny.snapshot().checkAbove(entry.path, entry.stats)
  for (let home = space.owner.home; home !== '/'; home = posix.dirname(home)) {
    const stats = statSync(home, { bigint: true, throwIfNoEntry: false })
    if (!stats || identityOf(stats) !== identityOf(entry.stats)) continue
    throw invalidRequest(
      `${entry.path} contains the home of ${space.owner.name} and cannot be removed or moved`,
    )
  }
  if (mountOf(entry) !== mountOf(directory)) throw mountPointError(entry.path)
}

export function mountPointError(path: string): AgentError {
  return invalidRequest(`${path} is a mount point; unmount it first`)
}

/** The id of the mount it was reached through. Unlike a device, it tells bind mounts apart. */
export function mountOf(entry: Entry): string {
  const info = readFileSync(`/proc/self/fdinfo/${entry.fd}`, 'utf8')
  const id = /^mnt_id:\t(\d+)$/m.exec(info)?.[1]
  if (id === undefined) throw new Error('the kernel reported no mount id for a descriptor')
  return id
}

function hasEntry(opened: OpenPath): opened is OpenPath & { readonly entry: Entry } {
  return opened.entry !== undefined
}

/** A dangling or circular link may be removed. */
function checkTarget(space: FileSpace, path: string): void {
  try {
    openPath(space, path)[Symbol.dispose]()
  } catch (error) {
    const isDenied = error instanceof AgentError && error.code === 'permission_denied'
    if (isDenied || !(error instanceof AgentError || isSystemError(error))) throw error
  }
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error
}
