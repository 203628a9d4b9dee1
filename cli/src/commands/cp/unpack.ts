import type { TarEntry } from '@computer/contract/tar'
import { readTar, TarError } from '@computer/contract/tar-reader'
import { ApiError } from '@computer/sdk'
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fchmodSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statfsSync,
  symlinkSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'
import { formatBytes } from '../../text.ts'

type Unpacked = { readonly files: number; readonly skipped: readonly string[] }

/** A machine could name omitted entries without end. */
const maxSkipped = 100_000

/**
 * Writes an archive from a machine, which is not trusted, below a local folder. Nothing outside the folder is
 * touched: every directory on the way is looked at before each entry, and a symlink there is replaced, whether it
 * was there or came with the archive. Files get permissions but no set-user-ID bit, and are replaced
 * atomically.
 */
export async function unpack(
  archive: AsyncIterable<Buffer>,
  to: string,
  count: (bytes: number) => void,
): Promise<Unpacked> {
  makeRoot(to)
  let files = 0
  const skipped: string[] = []
  try {
    for await (const { entry, content } of readTar(archive)) {
      if (entry.type === 'omitted') {
        if (skipped.length === maxSkipped) throw new TarError(`it omits over ${maxSkipped} entries`)
        skipped.push(entry.path)
        continue
      }
      const names = entry.path === '' ? [] : entry.path.split('/')
      if (names.some((name) => name.includes(sep))) {
        throw new TarError(`${entry.path} is not a name on this computer`)
      }
      if (entry.type === 'directory') makeDirectories(to, names)
      else {
        const path = join(makeDirectories(to, names.slice(0, -1)), names.at(-1)!)
        if (entry.type === 'symlink') replaceWithLink(entry.target, path)
        else {
          await writeFile(entry, content, path, count)
          files += 1
        }
      }
    }
  } catch (error) {
    if (!(error instanceof TarError)) throw error
    const message = `the machine sent an archive that is not accepted: ${error.message}`
    throw new ApiError('operation_failed', message)
  }
  return { files, skipped }
}

/** A symlink to a folder would have been the folder to copy into, so this one leads nowhere. */
function makeRoot(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) unlinkSync(path)
  mkdirSync(path, { recursive: true })
}

function makeDirectories(to: string, names: readonly string[]): string {
  let path = to
  for (const name of names) {
    path = join(path, name)
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (stats?.isDirectory()) continue
    if (stats?.isSymbolicLink()) unlinkSync(path)
    mkdirSync(path)
  }
  return path
}

async function writeFile(
  { mode, size }: TarEntry & { readonly type: 'file' },
  content: AsyncIterable<Buffer>,
  path: string,
  count: (bytes: number) => void,
): Promise<void> {
  requireSpace(size, path)
  const partial = partialPath(path)
  const { O_CREAT, O_EXCL, O_WRONLY } = constants
  // Exclusive, so that it follows no symlink that the archive may have put there.
  const fd = openSync(partial, O_CREAT | O_EXCL | O_WRONLY, 0o600)
  try {
    try {
      for await (const piece of content) {
        for (let at = 0; at < piece.length;) at += writeSync(fd, piece, at)
        count(piece.length)
      }
      fchmodSync(fd, mode)
    } finally {
      closeSync(fd)
    }
    renameSync(partial, path)
  } catch (error) {
    rmSync(partial, { force: true })
    throw error
  }
}

function replaceWithLink(target: string, path: string): void {
  const partial = partialPath(path)
  symlinkSync(target, partial)
  try {
    renameSync(partial, path)
  } catch (error) {
    rmSync(partial, { force: true })
    throw error
  }
}

function partialPath(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomBytes(9).toString('base64url')}.partial`)
}

const checkedBytes = 1024 * 1024

/** A machine may announce any size, so a file that cannot fit is refused before it fills the disk. */
function requireSpace(size: number, path: string): void {
  if (size < checkedBytes) return
  const { bavail, bsize } = statfsSync(dirname(path))
  if (size <= bavail * bsize) return
  const room = formatBytes(bavail * bsize)
  throw new ApiError('too_large', `${path} has ${formatBytes(size)}, and the disk has ${room} left`)
}
