import { z } from 'zod'
import { endpoint, largeBodyLimit } from './endpoint.ts'
import { MachineId } from './ids.ts'
import { NoContent, text, Timestamp } from './text.ts'

/** Longest range that a JSON read returns (specification, Limits 5). */
export const maxInlineReadBytes = 4 * 1024 * 1024

const FilePath = text(4096, 1).describe(
  'An absolute path, or one relative to the home of the user agent.',
)
const FileEncoding = z.enum(['utf8', 'base64']).meta({ id: 'FileEncoding' })
const FileMode = z
  .string()
  .regex(/^[0-7]{3,4}$/)
  .describe('Octal permissions, such as "0644", or "4755" with a special bit.')

export const DirectoryEntry = z
  .object({
    name: z.string().describe('The file name. Bytes that are not UTF-8 appear as U+FFFD.'),
    path: z
      .string()
      .nullable()
      .describe('Null if the name is not UTF-8: only a command can reach the file.'),
    type: z.enum(['file', 'directory', 'symlink', 'other']),
    size: z.int(),
    mode: z.string(),
    owner: z.string(),
    modified_at: Timestamp,
    target: z.string().nullable().describe('The target of a symlink; null for other types.'),
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
      .describe('The bytes in this range. A utf8 range ends before a character it would split.'),
    size: z.int().describe('The bytes in the whole file.'),
    eof: z.boolean().describe('Whether this range reaches the end of the file.'),
  })
  .meta({ id: 'FileContent' })
export type FileContent = z.infer<typeof FileContent>

export const WrittenFile = z.object({ path: z.string(), size: z.int() }).meta({ id: 'WrittenFile' })

export const WrittenArchive = z
  .object({
    path: z.string().describe('The directory.'),
    files: z.int(),
    bytes: z.int().describe('The bytes in these files.'),
  })
  .meta({ id: 'WrittenArchive' })
export type WrittenArchive = z.infer<typeof WrittenArchive>

export const MoveFileBody = z.strictObject({
  from: FilePath,
  to: FilePath.describe('The new path of the file, not a directory to move it into.'),
  overwrite: z.boolean().default(false),
})
export const MovedFile = z.object({ path: z.string() }).meta({ id: 'MovedFile' })

const params = z.object({ machine_id: MachineId })

export const files = {
  list: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}/files',
    summary: 'List a directory, sorted by name.',
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
      'Read a file or a range of it. With accept: application/octet-stream, the response body is the raw bytes.',
    requires: 'member',
    params,
    query: z.strictObject({
      path: FilePath,
      offset: z.coerce.number().int().min(0).default(0),
      length: z.coerce.number().int().min(0).max(maxInlineReadBytes).default(maxInlineReadBytes),
      encoding: FileEncoding.default('utf8'),
      download: z
        .enum(['true', 'false'])
        .default('false')
        .describe('The raw bytes, for a link in a browser: saved under the name, never shown.'),
    }),
    status: 200,
    headers: z.object({
      range: z.string().max(64).optional().describe('bytes=FIRST-LAST, for raw reads only.'),
    }),
    response: FileContent,
    bytes: 'application/octet-stream',
  }),
  write: endpoint({
    method: 'PUT',
    path: '/v1/machines/{machine_id}/files/content',
    summary: 'Write or append to a file. A write is atomic, an append is not.',
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
    bodyLimit: largeBodyLimit,
    status: 200,
    response: WrittenFile,
    uploads: z.strictObject({
      path: FilePath,
      append: z.enum(['true', 'false']).default('false'),
      create_parents: z.enum(['true', 'false']).default('true'),
      mode: FileMode.optional(),
    }),
  }),
  readArchive: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}/files/archive',
    summary: 'Read a directory and all below it as a tar archive, in one stream.',
    requires: 'member',
    params,
    query: z.strictObject({ path: FilePath.default('.') }),
    status: 200,
    response: NoContent,
    bytes: 'application/x-tar',
    onlyBytes: true,
  }),
  writeArchive: endpoint({
    method: 'PUT',
    path: '/v1/machines/{machine_id}/files/archive',
    summary:
      'Write the files, directories and symlinks of a tar archive below a directory, which is created if it does not exist. Each file is written atomically, the whole is not.',
    requires: 'machines:control',
    params,
    status: 200,
    response: WrittenArchive,
    uploads: z.strictObject({ path: FilePath.default('.') }),
    uploadType: 'application/x-tar',
  }),
  delete: endpoint({
    method: 'DELETE',
    path: '/v1/machines/{machine_id}/files',
    summary:
      'Delete a file, a symlink or a directory. Fails with conflict if a directory is not empty, unless recursive.',
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
    summary: 'Move a file, a symlink or a directory within one file system.',
    requires: 'machines:control',
    params,
    body: MoveFileBody,
    status: 200,
    response: MovedFile,
  }),
}
