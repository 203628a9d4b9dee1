import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  mkdirSync,
  openSync,
  write,
} from 'node:fs'
import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { invalidRequest } from '../errors.ts'
import { AtomicFile } from '../system/atomic-file.ts'
import { mapFileErrors } from './errors.ts'
import { openRegular } from './read.ts'
import { openPath, type FileSpace } from './space.ts'
import {
  childPath,
  fdPath,
  isKernelFile,
  namesDirectory,
  type Entry,
  type OpenPath,
} from './walk.ts'

type WriteRequest = {
  readonly path: string
  readonly append: boolean
  readonly createParents: boolean
  readonly mode?: number | undefined
}

/** A stream that was cut off ends like a complete one: `isComplete` then tells which. */
export type Body = { readonly stream: Readable; readonly isComplete: () => boolean }

/**
 * Writes a file from a stream: atomically, unless with `append`. An interrupted write changes
 * nothing; an interrupted append leaves what it has written.
 */
export async function writeFile(
  space: FileSpace,
  request: WriteRequest,
  body: Body,
): Promise<{ path: string; size: number }> {
  return mapFileErrors(request.path, async () => {
    const makeDirectory = (parent: Entry, name: string) => makeOwned(space, parent, name)
    using opened = openPath(space, request.path, request.createParents ? { makeDirectory } : {})
    if (opened.entry && !opened.entry.stats.isFile()) {
      const what = opened.entry.stats.isDirectory() ? 'a directory' : 'not a regular file'
      throw invalidRequest(`${opened.path} is ${what}`)
    }
    if (isKernelFile(opened.directory)) {
      throw invalidRequest(`${opened.path} belongs to the kernel; write it with a command`)
    }
    if (namesDirectory(request.path)) throw invalidRequest(`${request.path} names a directory`)
    const size = request.append
      ? await append(space, opened, request.mode, body)
      : await replace(space, opened, request.mode, body)
    return { path: opened.path, size }
  })
}

async function replace(
  space: FileSpace,
  opened: OpenPath,
  mode: number | undefined,
  body: Body,
): Promise<number> {
  using file = new AtomicFile(fdPath(opened.directory))
  const size = await writeAll(file.fd, body)
  const owner = opened.entry ? ownerOf(opened.entry) : ownerOfNew(space, opened.directory)
  fchownSync(file.fd, owner.uid, owner.gid)
  fchmodSync(file.fd, mode ?? (opened.entry ? Number(opened.entry.stats.mode) & 0o7777 : 0o644))
  file.commit(opened.name)
  return size
}

async function append(
  space: FileSpace,
  opened: OpenPath,
  mode: number | undefined,
  body: Body,
): Promise<number> {
  const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  const fd = opened.entry
    ? openRegular(opened.entry, O_WRONLY | O_APPEND)
    : openSync(
        childPath(opened.directory, opened.name),
        O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW,
        0o644,
      )
  try {
    if (!opened.entry) {
      const owner = ownerOfNew(space, opened.directory)
      fchownSync(fd, owner.uid, owner.gid)
    }
    if (mode !== undefined) fchmodSync(fd, mode)
    await writeAll(fd, body)
    return Number(fstatSync(fd).size)
  } finally {
    closeSync(fd)
  }
}

async function writeAll(fd: number, body: Body): Promise<number> {
  const size = await writeChunks(fd, body.stream as AsyncIterable<Buffer>)
  // A stream that was cut off is marked so only after its end event.
  await nextTurn()
  if (!body.isComplete()) throw invalidRequest('the body was cut off')
  return size
}

/** Resolves to the number of bytes. */
export async function writeChunks(fd: number, chunks: AsyncIterable<Buffer>): Promise<number> {
  let size = 0
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length;) {
      const { bytesWritten } = await writeBytes(fd, chunk, at)
      at += bytesWritten
    }
    size += chunk.length
  }
  return size
}

const writeBytes = promisify(write)

/** Makes a directory that belongs to whom new files there belong. */
export function makeOwned(space: FileSpace, parent: Entry, name: string, mode?: number): void {
  mkdirSync(childPath(parent, name), 0o755)
  const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants
  const fd = openSync(childPath(parent, name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  try {
    const owner = ownerOfNew(space, parent)
    fchownSync(fd, owner.uid, owner.gid)
    if (mode !== undefined) fchmodSync(fd, mode)
  } finally {
    closeSync(fd)
  }
}

type Owner = { readonly uid: number; readonly gid: number }

export function ownerOf(entry: Entry): Owner {
  return { uid: Number(entry.stats.uid), gid: Number(entry.stats.gid) }
}

/** New files belong to their directory's owner; in shared directories (/tmp), to the user. */
export function ownerOfNew(space: FileSpace, directory: Entry): Owner {
  const shared = (Number(directory.stats.mode) & 0o1002) === 0o1002
  return shared ? space.owner : ownerOf(directory)
}
