import { encodeTarHeader, gatherTar, tarPadding } from '@computer/contract/tar'
import { ApiError } from '@computer/sdk'
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import type { LocalEntry, LocalFile } from './local-tree.ts'

/** Sent at a time, and read at a time. Shorter files are read before their size is sent. */
const pieceBytes = 256 * 1024

/**
 * The entries as a tar archive. Files that grow are cut at the size that they had, and one that shrinks ends the
 * copy with an error. `count` gets the bytes of files as they are sent.
 */
export function pack(
  entries: Iterable<LocalEntry>,
  count: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  return gatherTar(encodeAll(entries, count), pieceBytes)
}

function* encodeAll(
  entries: Iterable<LocalEntry>,
  count: (bytes: number) => void,
): Generator<Buffer> {
  for (const entry of entries) yield* encode(entry, count)
}

function* encode(entry: LocalEntry, count: (bytes: number) => void): Generator<Buffer> {
  const { type, path } = entry
  if (type === 'file') yield* encodeFile(entry, count)
  else if (type === 'symlink') yield encodeTarHeader({ type, path, target: entry.target })
  else yield encodeTarHeader({ type, path, mode: 0o755 })
}

function* encodeFile(
  { path, source }: LocalFile,
  count: (bytes: number) => void,
): Generator<Buffer> {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
  // Windows has neither flag.
  const fd = openSync(source, O_RDONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0))
  try {
    const stats = fstatSync(fd)
    if (!stats.isFile()) throw changed(source)
    const whole = stats.size < pieceBytes ? readPiece(fd, stats.size) : undefined
    const size = whole?.length ?? stats.size
    yield encodeTarHeader({ type: 'file', path, mode: stats.mode & 0o777, size })
    for (let left = size; left > 0;) {
      const piece = whole ?? readPiece(fd, Math.min(left, pieceBytes))
      if (piece.length === 0) throw changed(source)
      left -= piece.length
      count(piece.length)
      yield piece
    }
    yield tarPadding(size)
  } finally {
    closeSync(fd)
  }
}

/** Shorter than asked only at the end of the file. */
function readPiece(fd: number, size: number): Buffer {
  const piece = Buffer.allocUnsafe(size)
  let length = 0
  while (length < size) {
    const read = readSync(fd, piece, length, size - length, null)
    if (read === 0) break
    length += read
  }
  return piece.subarray(0, length)
}

function changed(path: string): ApiError {
  return new ApiError('operation_failed', `${path} changed while it was copied; copy it again`)
}
