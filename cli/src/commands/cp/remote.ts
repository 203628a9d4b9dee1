import { ApiError, type DirectoryEntry, type Machine } from '@computer/sdk'
import { posix } from 'node:path'
import type { Bar } from '../../progress.ts'

export type Transfer = {
  readonly machine: Machine
  readonly bar: Bar
  readonly signal: AbortSignal
}

/** Symlinks are followed. */
export async function kindOf(
  machine: Machine,
  path: string,
): Promise<'file' | 'directory' | 'none'> {
  try {
    await machine.files.list(path, { limit: 1 })
    return 'directory'
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.code === 'not_found') return 'none'
    if (error.code === 'invalid_request') return 'file'
    throw error
  }
}

const longestSearch = 1000

/** What its directory says of a file, unless that is too long to look for it. */
export async function findEntry(
  machine: Machine,
  path: string,
): Promise<DirectoryEntry | undefined> {
  let seen = 0
  for await (const entry of machine.files.list(posix.dirname(path), { limit: 100 })) {
    if (entry.name === posix.basename(path)) return entry.type === 'file' ? entry : undefined
    if (++seen === longestSearch) return undefined
  }
  return undefined
}

const tries = 4

/** Does it again from the beginning when the connection breaks off. */
export async function persist<T>(bar: Bar, work: (count: (bytes: number) => void) => Promise<T>) {
  for (let number = 1; ; number++) {
    let counted = 0
    try {
      return await work((bytes) => {
        counted += bytes
        bar.add(bytes)
      })
    } catch (error) {
      if (number === tries || !isBreak(error)) throw error
      bar.add(-counted)
    }
  }
}

/** Runs work over items, a few at a time; the first failure ends it. */
export async function forEachFew<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values()
  const few = Array.from({ length: 4 }, async () => {
    for (const item of queue) await work(item)
  })
  await Promise.all(few)
}

/** fetch hands over a broken body as a TypeError of its own. */
function isBreak(error: unknown): boolean {
  if (error instanceof ApiError) return error.code === 'connection_failed'
  return error instanceof TypeError && error.message === 'terminated'
}
