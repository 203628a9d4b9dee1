import type { Readable } from 'node:stream'
import { maxInlineReadBytes, type FileContent, type MachineId } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import { invalid } from '../../errors.ts'
import type { CallOptions } from '../../guest/call.ts'
import type { GuestClient } from '../../guest/client.ts'
import { askGuest } from './calls.ts'
import { invalidCursor, type PageRequest } from '../page.ts'
import { decodeUtf8, wholeCharacters } from './utf8-range.ts'

type Guests = Pick<App, 'db' | 'guests'>
type FileCall =
  | 'readFile'
  | 'writeFile'
  | 'readArchive'
  | 'writeArchive'
  | 'deleteFile'
  | 'moveFile'
type Query<Call extends FileCall> = Parameters<GuestClient[Call]>[1]

/** A page of a directory, ordered by name. */
export async function listFiles(
  app: Guests,
  actor: Actor,
  id: MachineId,
  query: PageRequest & { readonly path: string },
) {
  const { path, limit, cursor } = query
  if (cursor !== undefined) checkCursor(cursor)
  const { next, ...list } = await askGuest(app, actor, id, (ref) =>
    app.guests.listFiles(ref, { path, limit, after: cursor }),
  )
  return { ...list, next_cursor: next, has_more: next !== null }
}

/** A cursor is the bytes of a name, which need not be UTF-8. */
function checkCursor(cursor: string): void {
  const name = Buffer.from(cursor, 'base64url')
  const isName = name.length > 0 && name.length <= 255 && !name.includes('/') && !name.includes(0)
  if (!isName || name.toString('base64url') !== cursor) throw invalidCursor()
}

/** The caller reads the stream to its end or destroys it. */
export function openFile(
  app: Guests,
  actor: Actor,
  id: MachineId,
  query: Query<'readFile'>,
  options: CallOptions,
) {
  return askGuest(app, actor, id, (ref) => app.guests.readFile(ref, query, options))
}

export function writeFile(
  app: Guests,
  actor: Actor,
  id: MachineId,
  query: Query<'writeFile'>,
  bytes: Buffer | Readable,
  options: CallOptions,
) {
  return askGuest(app, actor, id, (ref) => app.guests.writeFile(ref, query, bytes, options))
}

/** The caller reads the stream to its end or destroys it. */
export function openArchive(
  app: Guests,
  actor: Actor,
  id: MachineId,
  query: Query<'readArchive'>,
  options: CallOptions,
) {
  return askGuest(app, actor, id, (ref) => app.guests.readArchive(ref, query, options))
}

export function writeArchive(
  app: Guests,
  actor: Actor,
  id: MachineId,
  query: Query<'writeArchive'>,
  archive: Readable,
  options: CallOptions,
) {
  return askGuest(app, actor, id, (ref) => app.guests.writeArchive(ref, query, archive, options))
}

export function deleteFile(
  app: Guests,
  actor: Actor,
  id: MachineId,
  query: Query<'deleteFile'>,
  options: CallOptions,
) {
  return askGuest(app, actor, id, (ref) => app.guests.deleteFile(ref, query, options))
}

export function moveFile(
  app: Guests,
  actor: Actor,
  id: MachineId,
  move: Query<'moveFile'>,
  options: CallOptions,
) {
  return askGuest(app, actor, id, (ref) => app.guests.moveFile(ref, move, options))
}

/** One range of at most 4 MiB, in the encoding that the caller names. */
export async function readFile(
  app: Guests,
  actor: Actor,
  id: MachineId,
  query: {
    readonly path: string
    readonly offset: number
    readonly length: number
    readonly encoding: 'utf8' | 'base64'
  },
): Promise<FileContent> {
  const { path, offset, encoding } = query
  const length = Math.min(query.length, maxInlineReadBytes)
  const file = await askGuest(app, actor, id, (ref) =>
    app.guests.readFileBytes(ref, { path, offset, length }),
  )
  const bytes = encoding === 'base64' ? file.bytes : wholeCharacters(file.bytes, file.size, offset)
  return {
    path: file.path,
    content: encoding === 'base64' ? bytes.toString('base64') : decodeUtf8(bytes),
    encoding,
    offset,
    length: bytes.length,
    size: file.size,
    eof: offset + bytes.length >= file.size,
  }
}

/** Decodes the content of a body. */
export function decodeContent(content: string, encoding: 'utf8' | 'base64'): Buffer {
  if (encoding === 'utf8') {
    if (!content.isWellFormed()) {
      throw invalid('content holds a lone surrogate; use base64', [
        { field: 'content', message: 'must be valid Unicode' },
      ])
    }
    return Buffer.from(content, 'utf8')
  }
  const bytes = Buffer.from(content, 'base64')
  const padded = content.replace(/=+$/, '')
  if (bytes.toString('base64').replace(/=+$/, '') !== padded) {
    throw invalid('content is not base64', [{ field: 'content', message: 'must be base64' }])
  }
  return bytes
}
