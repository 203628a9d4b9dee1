import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  mkdirSync,
  openSync,
  renameSync,
  unlinkSync,
  write,
} from 'node:fs'
import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { invalid } from '../refusal.ts'
import { naming } from './failure.ts'
import { openRegular } from './read.ts'
import { walkIn, type FileSpace } from './space.ts'
import { at, isOfKernel, namesDirectory, type Entry, type Place } from './walk.ts'

export type WriteRequest = {
  readonly path: string
  readonly append: boolean
  readonly createParents: boolean
  readonly mode?: number | undefined
}

/** `isWhole` is asked when the stream has ended: was that its end, or was it cut? */
export type Body = { readonly stream: Readable; readonly isWhole: () => boolean }

/**
 * Writes a file from a stream. Without `append` it is atomic: the bytes go to a new file beside it
 * that takes its place when all are there. A broken-off write leaves nothing, a broken-off append
 * what had come.
 */
export async function writeFile(
  space: FileSpace,
  request: WriteRequest,
  body: Body,
): Promise<{ path: string; size: number }> {
  return naming(request.path, async () => {
    const makeDirectory = (parent: Entry, name: string) => makeOwned(space, parent, name)
    using place = walkIn(space, request.path, request.createParents ? { makeDirectory } : {})
    if (place.entry && !place.entry.stats.isFile()) {
      const what = place.entry.stats.isDirectory() ? 'a directory' : 'not a regular file'
      throw invalid(`${place.path} is ${what}`)
    }
    if (isOfKernel(place.directory)) {
      throw invalid(`${place.path} is the kernel's; write it with a command`)
    }
    if (namesDirectory(request.path)) throw invalid(`${request.path} names a directory`)
    const size = request.append
      ? await append(space, place, request.mode, body)
      : await replace(space, place, request.mode, body)
    return { path: place.path, size }
  })
}

async function replace(
  space: FileSpace,
  place: Place,
  mode: number | undefined,
  body: Body,
): Promise<number> {
  const temporary = at(place.directory, `.${randomBytes(9).toString('base64url')}.partial`)
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  const fd = openSync(temporary, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o600)
  try {
    const size = await writeAll(fd, body)
    const owner = place.entry ? ownerOf(place.entry) : ownerOfNew(space, place.directory)
    fchownSync(fd, owner.uid, owner.gid)
    fchmodSync(fd, mode ?? (place.entry ? Number(place.entry.stats.mode) & 0o7777 : 0o644))
    renameSync(temporary, at(place.directory, place.name))
    return size
  } catch (error) {
    unlinkSync(temporary)
    throw error
  } finally {
    closeSync(fd)
  }
}

async function append(
  space: FileSpace,
  place: Place,
  mode: number | undefined,
  body: Body,
): Promise<number> {
  const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  const fd = place.entry
    ? openRegular(place.entry, O_WRONLY | O_APPEND)
    : openSync(
        at(place.directory, place.name),
        O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW,
        0o644,
      )
  try {
    if (!place.entry) {
      const owner = ownerOfNew(space, place.directory)
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
  let size = 0
  for await (const chunk of body.stream as AsyncIterable<Buffer>) {
    for (let at = 0; at < chunk.length;) {
      const { bytesWritten } = await writeBytes(fd, chunk, at)
      at += bytesWritten
    }
    size += chunk.length
  }
  // A cut shows a turn after the end.
  await nextTurn()
  if (!body.isWhole()) throw invalid('the body was cut off')
  return size
}

const writeBytes = promisify(write)

function makeOwned(space: FileSpace, parent: Entry, name: string): void {
  mkdirSync(at(parent, name), 0o755)
  const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants
  const fd = openSync(at(parent, name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  try {
    const owner = ownerOfNew(space, parent)
    fchownSync(fd, owner.uid, owner.gid)
  } finally {
    closeSync(fd)
  }
}

type Owner = { readonly uid: number; readonly gid: number }

function ownerOf(entry: Entry): Owner {
  return { uid: Number(entry.stats.uid), gid: Number(entry.stats.gid) }
}

/** New files belong to their directory's owner; in directories open to all (/tmp), to the user. */
function ownerOfNew(space: FileSpace, directory: Entry): Owner {
  const shared = (Number(directory.stats.mode) & 0o1002) === 0o1002
  return shared ? space.owner : ownerOf(directory)
}
