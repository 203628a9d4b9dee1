import { z } from 'zod'
import { DirectoryEntry, MovedFile, MoveFileBody, WrittenArchive } from './files.ts'
import { untrustedArray } from './text.ts'

export const GuestListQuery = z.strictObject({
  path: z.string(),
  limit: z.coerce.number().int().min(1).max(100).default(25),
  /** The previous page's `next`. Pages are ordered by the bytes of the names. */
  after: z.base64url().optional(),
})
export const GuestFileList = z.object({
  path: z.string().max(4096),
  data: untrustedArray(DirectoryEntry, 100),
  /** The page's last name, as base64url of its bytes; null on the last page. */
  next: z.base64url().nullable(),
})
export const GuestReadQuery = z.strictObject({
  path: z.string(),
  offset: z.coerce.number().int().min(0).default(0),
  /** In bytes. Defaults to the rest of the file. */
  length: z.coerce.number().int().min(0).optional(),
})
export const GuestWriteQuery = z.strictObject({
  path: z.string(),
  append: z.enum(['true', 'false']).default('false'),
  create_parents: z.enum(['true', 'false']).default('true'),
  mode: z
    .string()
    .regex(/^[0-7]{3,4}$/)
    .optional(),
})
export const GuestArchiveQuery = z.strictObject({ path: z.string() })
export const GuestWrittenArchive = WrittenArchive.extend({
  path: z.string().max(4096),
  files: z.int().min(0),
  bytes: z.int().min(0),
})

export const GuestDeleteQuery = z.strictObject({
  path: z.string(),
  recursive: z.enum(['true', 'false']).default('false'),
})
export const GuestMove = MoveFileBody
export const GuestMovedFile = MovedFile
