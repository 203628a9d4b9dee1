import { ApiError, type DirectoryEntry, type Machine } from '@computer/sdk'
import { posix } from 'node:path'
import type { Bar } from '../../progress.ts'

export type Transfer = {
  readonly machine: Machine
  readonly bar: Bar
  readonly signal: AbortSignal
}

/** Follows symlinks. */
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

const maxSearchedEntries = 1000

/** Finds a file's entry in its directory listing, giving up in very large directories. */
export async function findEntry(
  machine: Machine,
  path: string,
): Promise<DirectoryEntry | undefined> {
  let seen = 0
  for await (const entry of machine.files.list(posix.dirname(path), { limit: 100 })) {
    if (entry.name === posix.basename(path)) return entry.type === 'file' ? entry : undefined
    if (++seen === maxSearchedEntries) return undefined
  }
  return undefined
}

const maxAttempts = 4

/** Restarts the transfer from the beginning when the connection breaks. */
export async function retryTransfer<T>(
  bar: Bar,
  work: (count: (bytes: number) => void) => Promise<T>,
) {
  for (let attempt = 1; ; attempt++) {
    let counted = 0
    try {
      return await work((bytes) => {
        counted += bytes
        bar.add(bytes)
      })
    } catch (error) {
      if (attempt === maxAttempts || !isConnectionLoss(error)) throw error
      bar.add(-counted)
    }
  }
}

/** fetch reports a body cut short as a TypeError of its own. */
function isConnectionLoss(error: unknown): boolean {
  if (error instanceof ApiError) return error.code === 'connection_failed'
  return error instanceof TypeError && error.message === 'terminated'
}
