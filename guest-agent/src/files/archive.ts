import { isUtf8 } from 'node:buffer'
import { closeSync, read, readlinkSync, readSync, type Dir } from 'node:fs'
import { opendir } from 'node:fs/promises'
import { posix } from 'node:path'
import { promisify } from 'node:util'
import {
  encodeTarHeader,
  gatherTar,
  maxTarPathBytes,
  tarPadding,
  type TarEntry,
} from '@computer/contract/tar'
import { AgentError } from '../errors.ts'
import { createTurns } from '../system/turns.ts'
import { openChild, type OpenChild } from './child.ts'
import { mapFileErrors } from './errors.ts'
import { openFile } from './read.ts'
import { openPath, type FileSpace } from './space.ts'
import { childPathBytes, fdPath, notDirectory, notFound, type Entry } from './walk.ts'

/**
 * A directory as an archive (contract, tar.ts). It is read through descriptors, and no symlink below it is
 * followed. What the archive may not hold is named in it as omitted: denied and special files, files that
 * cannot be read, names that are not UTF-8. An entry that is removed meanwhile is left out. A file that
 * grows is cut at the size that it had; one that shrinks ends the archive with an error, since its size is
 * sent already.
 */
export async function archiveDirectory(
  space: FileSpace,
  path: string,
): Promise<AsyncIterable<Buffer>> {
  const chunks = openArchive(space, path)
  // Errors of the path come here, before the response begins; from then on, the caller's end closes all.
  await mapFileErrors(path, () => chunks.next())
  return chunks
}

/** Sent at a time. */
const gatheredBytes = 64 * 1024

/** The first chunk is empty. */
async function* openArchive(space: FileSpace, path: string): AsyncGenerator<Buffer> {
  using opened = openPath(space, path)
  const { entry } = opened
  if (!entry) throw notFound(opened.path)
  if (!entry.stats.isDirectory()) throw notDirectory(opened.path)
  yield Buffer.alloc(0)
  yield* gatherTar(archiveFolder(space, entry), gatheredBytes)
}

/** Directories that are being read, from the outermost to the innermost. A path may have two thousand. */
type Reading = { readonly entry: Entry; readonly path: string; readonly names: Dir; close(): void }

async function* archiveFolder(space: FileSpace, directory: Entry): AsyncGenerator<Buffer> {
  const readings: Reading[] = [await startReading(directory, '', () => {})]
  const turn = createTurns()
  try {
    for (;;) {
      await turn()
      const reading = readings.at(-1)!
      let name: Buffer | undefined
      try {
        name = await nextName(reading)
      } catch (error) {
        if (readings.length === 1 || !isUnreadable(error)) throw error
        yield omitted(reading.path)
      }
      if (name !== undefined) yield* archiveName(space, readings, reading, name)
      else if (readings.length === 1) break
      else await end(readings.pop()!)
    }
    // Last, because some programs expect an entry after every global header.
    yield header({ type: 'directory', path: '.', mode: modeOf(directory) }, directory)
  } finally {
    for (const reading of readings) await end(reading)
  }
}

async function startReading(entry: Entry, path: string, close: () => void): Promise<Reading> {
  // latin1 maps each byte to a character: names need not be UTF-8.
  return { entry, path, names: await opendir(fdPath(entry), { encoding: 'latin1' }), close }
}

async function end({ names, close }: Reading): Promise<void> {
  close()
  await names.close()
}

/** Undefined at the end. */
async function nextName({ names }: Reading): Promise<Buffer | undefined> {
  const found = await names.read()
  return found ? Buffer.from(found.name, 'latin1') : undefined
}

/** Adds a directory to those that are being read, and archives everything else. */
async function* archiveName(
  space: FileSpace,
  readings: Reading[],
  { entry: directory, path }: Reading,
  name: Buffer,
): AsyncGenerator<Buffer> {
  const inner = posix.join(path, name.toString('utf8'))
  let child: OpenChild | undefined
  try {
    if (!isUtf8(name) || Buffer.byteLength(inner) >= maxTarPathBytes) throw notArchivable(inner)
    child = openChild(space, directory, name.toString('utf8'))
    if (!child) return
    if (child.stats.isDirectory()) {
      const opened = child
      readings.push(await startReading(opened, inner, () => opened[Symbol.dispose]()))
      child = undefined
      yield header({ type: 'directory', path: inner, mode: modeOf(opened) }, opened)
    } else yield* archiveEntry(directory, child, inner)
  } catch (error) {
    if (isGone(error)) return
    if (!isUnreadable(error)) throw error
    yield omitted(inner)
  } finally {
    child?.[Symbol.dispose]()
  }
}

/** As much of the path as an extended header holds. */
function omitted(path: string): Buffer {
  return encodeTarHeader({ type: 'omitted', path: path.slice(0, maxTarPathBytes / 4) })
}

async function* archiveEntry(
  directory: Entry,
  child: OpenChild,
  path: string,
): AsyncGenerator<Buffer> {
  if (!child.stats.isSymbolicLink()) return yield* archiveFile(child, path)
  const name = Buffer.from(posix.basename(path))
  const target = readlinkSync(childPathBytes(directory, name), 'buffer')
  if (!isUtf8(target)) throw notArchivable(path)
  yield header({ type: 'symlink', path, target: target.toString('utf8') }, child)
}

/** Shorter files are read in one step, before their size is sent, so it is the right one. */
const quickBytes = 64 * 1024
/** Read of a longer file at a time. */
const pieceBytes = 256 * 1024

async function* archiveFile(child: OpenChild, path: string): AsyncGenerator<Buffer> {
  const file = await openFile(child)
  try {
    const whole = file.bytes ?? (file.size <= quickBytes ? readWhole(file) : undefined)
    const size = whole?.length ?? file.size
    yield header({ type: 'file', path, mode: modeOf(child), size }, child)
    if (whole) yield whole
    else {
      for (let at = 0; at < size;) {
        const piece = Buffer.allocUnsafe(Math.min(pieceBytes, size - at))
        const bytesRead = await readNext(file.fd!, piece, at)
        if (bytesRead === 0) throw new Error(`${child.path} became shorter while it was read`)
        at += bytesRead
        yield piece.subarray(0, bytesRead)
      }
    }
    yield tarPadding(size)
  } finally {
    if (file.fd !== undefined) closeSync(file.fd)
  }
}

const readBytes = promisify(read)

/** An error ends the archive, since the file's header is sent: it must not count as one of opening. */
async function readNext(fd: number, piece: Buffer, at: number): Promise<number> {
  try {
    return (await readBytes(fd, piece, 0, piece.length, at)).bytesRead
  } catch (cause) {
    throw new Error('the content of a file could not be read', { cause })
  }
}

function readWhole({ fd, size }: { readonly fd: number; readonly size: number }): Buffer {
  const bytes = Buffer.allocUnsafe(size)
  let length = 0
  while (length < size) {
    const read = readSync(fd, bytes, length, size - length, length)
    if (read === 0) break
    length += read
  }
  return bytes.subarray(0, length)
}

function header(entry: TarEntry, { stats }: Entry): Buffer {
  return encodeTarHeader(entry, Number(stats.mtimeMs))
}

/** Programs that unpack the archive must not get set-user-ID files from a machine. */
function modeOf({ stats }: Entry): number {
  return Number(stats.mode) & 0o777
}

function notArchivable(path: string): AgentError {
  return new AgentError('unsupported_operation', `${path} cannot be archived`)
}

function isGone(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

function isUnreadable(error: unknown): boolean {
  if (error instanceof AgentError) return true
  const { code, syscall } = error as NodeJS.ErrnoException
  return syscall !== undefined && !['EMFILE', 'ENFILE', 'ENOMEM'].includes(code ?? '')
}
