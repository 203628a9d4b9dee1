import { isUtf8 } from 'node:buffer'
import type { BigIntStats } from 'node:fs'
import { lstat, opendir, readlink } from 'node:fs/promises'
import { posix } from 'node:path'
import type { DirectoryEntry } from '@computer/contract'
import { mapFileErrors } from './errors.ts'
import { openPath, type FileSpace } from './space.ts'
import { childPathBytes, notDirectory, notFound, fdPath, type Entry } from './walk.ts'

type ListRequest = {
  readonly path: string
  readonly limit: number
  /** The previous page's `next`. */
  readonly after?: string | undefined
}

type Listing = {
  readonly path: string
  readonly data: readonly DirectoryEntry[]
  readonly next: string | null
}

/**
 * A page of a directory, ordered by the bytes of the names. Holds no more than a page in memory.
 */
export async function listDirectory(
  space: FileSpace,
  { path, limit, after }: ListRequest,
): Promise<Listing> {
  return mapFileErrors(path, async () => {
    using opened = openPath(space, path)
    const directory = opened.entry
    if (!directory) throw notFound(opened.path)
    if (!directory.stats.isDirectory()) throw notDirectory(opened.path)

    const start = after === undefined ? '' : Buffer.from(after, 'base64url').toString('latin1')
    const names = await firstNames(directory, start, limit + 1)
    const page = names.slice(0, limit).map((name) => Buffer.from(name, 'latin1'))
    const entries = await Promise.all(page.map((name) => describe(space, directory, name)))
    return {
      path: directory.path,
      data: entries.filter((entry) => entry !== undefined),
      next: names.length > limit ? page.at(-1)!.toString('base64url') : null,
    }
  })
}

/** Sorted. Decoded as latin1, which maps each byte to a character: names need not be UTF-8. */
async function firstNames(directory: Entry, after: string, count: number): Promise<string[]> {
  const first: string[] = []
  const options = { encoding: 'latin1', bufferSize: 1024 } as const
  for await (const { name } of await opendir(fdPath(directory), options)) {
    if (name <= after || (first.length === count && name > first.at(-1)!)) continue
    first.splice(positionOf(first, name), 0, name)
    if (first.length > count) first.pop()
  }
  return first
}

function positionOf(sorted: readonly string[], name: string): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sorted[middle]! < name) low = middle + 1
    else high = middle
  }
  return low
}

/** Undefined if the entry was removed in the meantime. */
async function describe(
  space: FileSpace,
  directory: Entry,
  name: Buffer,
): Promise<DirectoryEntry | undefined> {
  const path = childPathBytes(directory, name)
  const stats = await lstat(path, { bigint: true }).catch(() => undefined)
  if (!stats) return undefined
  const target = stats.isSymbolicLink()
    ? await readlink(path, 'buffer').catch(() => undefined)
    : undefined
  const shownName = name.toString('utf8')
  return {
    name: shownName,
    path: isUtf8(name) ? posix.join(directory.path, shownName) : null,
    type: typeOf(stats),
    size: Number(stats.size),
    mode: (Number(stats.mode) & 0o7777).toString(8).padStart(4, '0'),
    owner: space.users.nameOf(Number(stats.uid)),
    modified_at: new Date(Number(stats.mtimeMs)).toISOString(),
    target: target?.toString('utf8') ?? null,
  }
}

function typeOf(stats: BigIntStats): DirectoryEntry['type'] {
  if (stats.isFile()) return 'file'
  if (stats.isDirectory()) return 'directory'
  return stats.isSymbolicLink() ? 'symlink' : 'other'
}
