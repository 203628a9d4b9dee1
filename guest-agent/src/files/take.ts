import { readFileSync, statSync } from 'node:fs'
import { posix } from 'node:path'
import { invalid, Refusal } from '../refusal.ts'
import { identityOf } from './deny.ts'
import { walkIn, type FileSpace } from './space.ts'
import { notFound, type Entry, type Place } from './walk.ts'

/** A place with something in it that may be taken away. */
export type Takeable = Disposable & Pick<Place, 'directory' | 'name' | 'path'> & { entry: Entry }

/**
 * Walks to what is to be removed, moved or replaced. A symlink is taken itself, but not if it leads to
 * what is denied.
 */
export function walkToTake(space: FileSpace, path: string): Takeable {
  const place = walkToName(space, path)
  try {
    if (!hasEntry(place)) throw notFound(place.path)
    checkTakeable(space, place)
    return place
  } catch (error) {
    place[Symbol.dispose]()
    throw error
  }
}

/** Walks to a name that need not be there, without following it. */
export function walkToName(space: FileSpace, path: string): Place {
  const place = walkIn(space, path, { keepLastLink: true })
  try {
    if (place.entry?.stats.isSymbolicLink()) checkWhereItLeads(space, path)
    return place
  } catch (error) {
    place[Symbol.dispose]()
    throw error
  }
}

export function checkTakeable(
  space: FileSpace,
  { directory, entry }: Pick<Takeable, 'directory' | 'entry'>,
): void {
  if (!entry.stats.isDirectory()) return
  if (entry.path === '/') throw invalid('/ cannot be removed or moved')
  space.deny.look().checkAbove(entry.path, entry.stats)
  for (let home = space.owner.home; home !== '/'; home = posix.dirname(home)) {
    const stats = statSync(home, { bigint: true, throwIfNoEntry: false })
    if (!stats || identityOf(stats) !== identityOf(entry.stats)) continue
    throw invalid(
      `${entry.path} holds the home of ${space.owner.name}; it cannot be removed or moved`,
    )
  }
  if (mountOf(entry) !== mountOf(directory)) throw isMountPoint(entry.path)
}

export function isMountPoint(path: string): Refusal {
  return invalid(`${path} is a mount point; unmount it first`)
}

/** Which mount it was reached through. A bind mount of the same file system is another one. */
export function mountOf(entry: Entry): string {
  const info = readFileSync(`/proc/self/fdinfo/${entry.fd}`, 'utf8')
  const id = /^mnt_id:\t(\d+)$/m.exec(info)?.[1]
  if (id === undefined) throw new Error('the kernel did not say which mount a file is of')
  return id
}

function hasEntry(place: Place): place is Place & { readonly entry: Entry } {
  return place.entry !== undefined
}

/** A link that leads nowhere, or in a circle, is fine to take. */
function checkWhereItLeads(space: FileSpace, path: string): void {
  try {
    walkIn(space, path)[Symbol.dispose]()
  } catch (error) {
    const isDenied = error instanceof Refusal && error.code === 'permission_denied'
    if (isDenied || !(error instanceof Refusal || isOfTheKernel(error))) throw error
  }
}

function isOfTheKernel(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error
}
