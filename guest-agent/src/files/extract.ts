import { randomUUID } from 'node:crypto'
import {
  fchmodSync,
  fchownSync,
  lchownSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import type { Readable } from 'node:stream'
import type { WrittenArchive } from '@computer/contract'
import type { TarEntry } from '@computer/contract/tar'
import { readTar, TarError } from '@computer/contract/tar-reader'
import { AgentError, invalidRequest } from '../errors.ts'
import { AtomicFile } from '../system/atomic-file.ts'
import { createTurns } from '../system/turns.ts'
import { openChild } from './child.ts'
import { mapFileErrors } from './errors.ts'
import { Folders } from './folders.ts'
import { openPath, type FileSpace } from './space.ts'
import { fdPath, notDirectory, type Entry, type OpenPath } from './walk.ts'
import { makeOwned, ownerOf, ownerOfNew, writeChunks } from './write.ts'

type Counts = { files: number; bytes: number }

/**
 * Writes the entries of an archive (contract, tar.ts) below a directory, which is created if there is none.
 * Symlinks lead to that directory, but none below it is followed: one that stands where the archive has a
 * file is replaced, and one where it has a directory is an error. Each file is written atomically, under the
 * rules of single files. An error ends the work, says how much was written, and leaves it.
 */
export async function extractArchive(
  space: FileSpace,
  path: string,
  body: Readable,
): Promise<WrittenArchive> {
  using root = await mapFileErrors(path, async () => openTarget(space, path))
  using folders = new Folders(space, root.entry)
  const counts: Counts = { files: 0, bytes: 0 }
  try {
    // The stream stays open after an error, for the response.
    const chunks = untilCutOff(body)
    const turn = createTurns()
    for await (const { entry, content } of readTar(chunks)) {
      await turn()
      await mapFileErrors(`${root.path}/${entry.path}`, () =>
        extractEntry(space, folders, entry, content, counts),
      )
    }
  } catch (error) {
    throw withCounts(error, counts)
  }
  return { path: root.path, ...counts }
}

/** A stream that breaks off ends, so that the reader says what is missing. */
async function* untilCutOff(body: Readable): AsyncGenerator<Buffer> {
  try {
    yield* body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
  }
}

type Target = OpenPath & { readonly entry: Entry }

function openTarget(space: FileSpace, path: string): Target {
  const makeDirectory = (parent: Entry, name: string) => makeOwned(space, parent, name)
  {
    using first = openPath(space, path, { makeDirectory })
    if (!first.entry) makeOwned(space, first.directory, first.name)
  }
  const opened = openPath(space, path)
  if (opened.entry?.stats.isDirectory()) return opened as Target
  opened[Symbol.dispose]()
  throw notDirectory(opened.path)
}

async function extractEntry(
  space: FileSpace,
  folders: Folders,
  entry: TarEntry,
  content: AsyncIterable<Buffer>,
  counts: Counts,
): Promise<void> {
  if (entry.type === 'omitted') return
  const names = entry.path === '' ? [] : entry.path.split('/')
  if (entry.type === 'directory') return void folders.enter(names, entry.mode)
  const directory = folders.enter(names.slice(0, -1))
  const name = names.at(-1)!
  using existing = openChild(space, directory, name)
  if (existing && !existing.stats.isFile() && !existing.stats.isSymbolicLink()) {
    const what = existing.stats.isDirectory() ? 'a directory' : 'not a regular file'
    throw invalidRequest(`${existing.path} is ${what}`)
  }
  if (entry.type === 'symlink') return replaceWithLink(space, directory, name, entry.target)

  using file = new AtomicFile(fdPath(directory))
  const isQuick = entry.size <= quickBytes
  const size = await (isQuick ? writeQuickly : writeChunks)(file.fd, content)
  const owner = existing?.stats.isFile() ? ownerOf(existing) : ownerOfNew(space, directory)
  fchownSync(file.fd, owner.uid, owner.gid)
  fchmodSync(file.fd, entry.mode)
  file.commit(name)
  counts.files += 1
  counts.bytes += size
}

/** Written without a detour through another thread, which takes longer than the write. */
const quickBytes = 64 * 1024

async function writeQuickly(fd: number, content: AsyncIterable<Buffer>): Promise<number> {
  let size = 0
  for await (const piece of content) {
    for (let at = 0; at < piece.length;) at += writeSync(fd, piece, at)
    size += piece.length
  }
  return size
}

function replaceWithLink(space: FileSpace, directory: Entry, name: string, target: string): void {
  const partial = `${fdPath(directory)}/.${randomUUID()}.partial`
  symlinkSync(target, partial)
  try {
    const owner = ownerOfNew(space, directory)
    lchownSync(partial, owner.uid, owner.gid)
    renameSync(partial, `${fdPath(directory)}/${name}`)
  } catch (error) {
    unlinkSync(partial)
    throw error
  }
}

function withCounts(error: unknown, { files }: Counts): unknown {
  const written = `${files} ${files === 1 ? 'file was' : 'files were'} written before`
  if (error instanceof TarError) return invalidRequest(`${error.message}; ${written}`)
  if (!(error instanceof AgentError)) return error
  return new AgentError(error.code, `${error.message}; ${written}`, { cause: error })
}
