import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { MachineId } from './ids.ts'
import { NoContent, text, Timestamp } from './text.ts'

/** The longest range a JSON read returns, in bytes (specification, Limits 5). */
export const maxInlineReadBytes = 4 * 1024 * 1024

export const FilePath = text(4096, 1).describe("Absolute, or relative to the agent user's home.")
export const FileEncoding = z.enum(['utf8', 'base64']).meta({ id: 'FileEncoding' })
export const FileMode = z
  .string()
  .regex(/^0?[0-7]{3}$/)
  .describe('Octal permissions, e.g. "0644".')

export const DirectoryEntry = z
  .object({
    name: z.string().describe('Bytes that are not UTF-8 are shown as U+FFFD.'),
    path: z
      .string()
      .nullable()
      .describe('Null if the name is not UTF-8: no path reaches it, a command does.'),
    type: z.enum(['file', 'directory', 'symlink', 'other']),
    size: z.int(),
    mode: z.string(),
    owner: z.string(),
    modified_at: Timestamp,
    target: z.string().nullable().describe('Where a symlink points; else null.'),
  })
  .meta({ id: 'DirectoryEntry' })
export type DirectoryEntry = z.infer<typeof DirectoryEntry>

export const FileContent = z
  .object({
    path: z.string(),
    content: z.string(),
    encoding: FileEncoding,
    offset: z.int(),
    length: z
      .int()
      .describe('Bytes in this range. A utf8 range ends before a character it would cut.'),
    size: z.int().describe('Bytes in the whole file.'),
    eof: z.boolean(),
  })
  .meta({ id: 'FileContent' })
export type FileContent = z.infer<typeof FileContent>

export const WrittenFile = z.object({ path: z.string(), size: z.int() }).meta({ id: 'WrittenFile' })

export const MoveFileBody = z.strictObject({
  from: FilePath,
  to: FilePath.describe('The new path itself, not a directory to move into.'),
  overwrite: z.boolean().default(false),
})
export const MovedFile = z.object({ path: z.string() }).meta({ id: 'MovedFile' })

const params = z.object({ machine_id: MachineId })

export const files = {
  list: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}/files',
    summary: 'List a directory, by name.',
    requires: 'member',
    params,
    query: z.strictObject({
      path: FilePath.default('.'),
      limit: z.coerce.number().int().min(1).max(100).default(25),
      cursor: z.string().min(1).optional(),
    }),
    status: 200,
    response: z.object({
      path: z.string(),
      data: z.array(DirectoryEntry),
      next_cursor: z.string().nullable(),
      has_more: z.boolean(),
    }),
  }),
  read: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}/files/content',
    summary:
      'Read a file or a range of it. With accept: application/octet-stream, the bytes themselves.',
    requires: 'member',
    params,
    query: z.strictObject({
      path: FilePath,
      offset: z.coerce.number().int().min(0).default(0),
      length: z.coerce.number().int().min(0).max(maxInlineReadBytes).default(maxInlineReadBytes),
      encoding: FileEncoding.default('utf8'),
    }),
    status: 200,
    headers: z.object({
      range: z.string().max(64).optional().describe('Of the bytes form: bytes=FIRST-LAST.'),
    }),
    response: FileContent,
    bytes: 'application/octet-stream',
  }),
  write: endpoint({
    method: 'PUT',
    path: '/v1/machines/{machine_id}/files/content',
    summary: 'Write or append to a file. A write that does not append is atomic.',
    requires: 'machines:control',
    params,
    body: z.strictObject({
      path: FilePath,
      content: z.string(),
      encoding: FileEncoding.default('utf8'),
      append: z.boolean().default(false),
      create_parents: z.boolean().default(true),
      mode: FileMode.optional(),
    }),
    status: 200,
    response: WrittenFile,
    uploads: z.strictObject({
      path: FilePath,
      append: z.enum(['true', 'false']).default('false'),
      create_parents: z.enum(['true', 'false']).default('true'),
      mode: FileMode.optional(),
    }),
  }),
  delete: endpoint({
    method: 'DELETE',
    path: '/v1/machines/{machine_id}/files',
    summary: 'Remove a file, a symlink or a directory; with recursive, what is in it too.',
    requires: 'machines:control',
    params,
    query: z.strictObject({
      path: FilePath,
      recursive: z.enum(['true', 'false']).default('false'),
    }),
    status: 204,
    response: NoContent,
  }),
  move: endpoint({
    method: 'POST',
    path: '/v1/machines/{machine_id}/files/move',
    summary: 'Move a file, a symlink or a directory within its file system.',
    requires: 'machines:control',
    params,
    body: MoveFileBody,
    status: 200,
    response: MovedFile,
  }),
}
