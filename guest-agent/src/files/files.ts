import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  readlinkSync,
  type BigIntStats,
} from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { posix } from 'node:path'
import type { DirectoryEntry } from '@computer/contract'
import { invalid } from '../refusal.ts'
import { naming } from './failure.ts'
import { walkIn, type FileSpace } from './space.ts'
import { at, notDirectory, notFound, reopenable, type Entry } from './walk.ts'

export type Listing = {
  readonly path: string
  readonly data: readonly DirectoryEntry[]
  readonly has_more: boolean
}

export async function listDirectory(
  space: FileSpace,
  query: { readonly path: string; readonly limit: number; readonly after?: string | undefined },
): Promise<Listing> {
  return naming(query.path, async () => {
    using place = walkIn(space, query.path)
    const directory = place.entry
    if (!directory) throw notFound(place.path)
    if (!directory.stats.isDirectory()) throw notDirectory(place.path)

    const { after } = query
    const names = (await readdir(reopenable(directory))).sort(byCodeUnit)
    const start = after === undefined ? 0 : names.findIndex((name) => name > after)
    const page = start < 0 ? [] : names.slice(start, start + query.limit)
    const entries = await Promise.all(page.map((name) => describe(space, directory, name)))
    return {
      path: directory.path,
      data: entries.filter((entry) => entry !== undefined),
      has_more: start >= 0 && start + page.length < names.length,
    }
  })
}

export type OpenedRange = {
  readonly path: string
  readonly size: number
  readonly offset: number
  readonly length: number
  /** The caller closes it. Undefined when `bytes` are the content. */
  readonly fd?: number
  readonly bytes?: Buffer
}

/** Opens a range of a regular file. What has no size (in /proc and /sys) is read whole. */
export async function openRange(
  space: FileSpace,
  query: { readonly path: string; readonly offset: number; readonly length?: number | undefined },
): Promise<OpenedRange> {
  return naming(query.path, async () => {
    using place = walkIn(space, query.path)
    if (!place.entry) throw notFound(place.path)
    const fd = openRegular(place.entry, constants.O_RDONLY)
    try {
      const size = Number(fstatSync(fd).size)
      const whole = size === 0 ? readWhole(fd) : undefined
      const total = whole?.length ?? size
      const offset = Math.min(query.offset, total)
      const length = Math.min(query.length ?? Infinity, total - offset)
      const range = { path: place.path, size: total, offset, length }
      if (!whole) return { ...range, fd }
      closeSync(fd)
      return { ...range, bytes: whole.subarray(offset, offset + length) }
    } catch (error) {
      closeSync(fd)
      throw error
    }
  })
}

/** Opens the very file that was walked to, and refuses what could hang or is not a file. */
export function openRegular(entry: Entry, flags: number): number {
  if (entry.stats.isDirectory()) throw invalid(`${entry.path} is a directory`)
  if (!entry.stats.isFile()) throw invalid(`${entry.path} is not a regular file`)
  return openSync(reopenable(entry), flags | constants.O_NONBLOCK)
}

const maxSizelessBytes = 4 * 1024 * 1024

function readWhole(fd: number): Buffer {
  const chunks: Buffer[] = []
  let length = 0
  while (length < maxSizelessBytes) {
    const chunk = Buffer.allocUnsafe(64 * 1024)
    const read = readSync(fd, chunk)
    if (read === 0) break
    chunks.push(chunk.subarray(0, read))
    length += read
  }
  return Buffer.concat(chunks)
}

async function describe(
  space: FileSpace,
  directory: Entry,
  name: string,
): Promise<DirectoryEntry | undefined> {
  const path = at(directory, name)
  const stats = await lstat(path, { bigint: true }).catch(() => undefined)
  if (!stats) return undefined
  return {
    name,
    path: posix.join(directory.path, name),
    type: typeOf(stats),
    size: Number(stats.size),
    mode: (Number(stats.mode) & 0o777).toString(8).padStart(4, '0'),
    owner: space.users.nameOf(Number(stats.uid)),
    modified_at: new Date(Number(stats.mtimeMs)).toISOString(),
    target: stats.isSymbolicLink() ? readTarget(path) : null,
  }
}

function readTarget(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    return null
  }
}

function typeOf(stats: BigIntStats): DirectoryEntry['type'] {
  if (stats.isFile()) return 'file'
  if (stats.isDirectory()) return 'directory'
  return stats.isSymbolicLink() ? 'symlink' : 'other'
}

function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
