import {
  GuestArchiveQuery,
  GuestDeleteQuery,
  GuestListQuery,
  GuestMove,
  GuestReadQuery,
  GuestWriteQuery,
} from '@computer/contract/guest-files'
import type { guestFileRoutes } from '@computer/contract/guest-routes'
import { parse, parseBody } from '../body.ts'
import type { Config } from '../config.ts'
import type { Route } from '../server.ts'
import type { Users } from '../system/users.ts'
import { archiveDirectory } from './archive.ts'
import { DenyList } from './deny.ts'
import { extractArchive } from './extract.ts'
import { listDirectory } from './list.ts'
import { moveFile } from './move.ts'
import { openRange } from './read.ts'
import { removeFile } from './remove.ts'
import type { FileSpace } from './space.ts'
import { writeFile } from './write.ts'

export function fileRoutes(
  { agentUser, deniedPaths }: Config,
  users: Users,
): Record<keyof typeof guestFileRoutes, Route> {
  const deny = new DenyList(deniedPaths)
  const files = (): FileSpace => ({ deny, users, owner: users.require(agentUser) })
  return {
    listFiles: async ({ query }) => ({
      json: await listDirectory(files(), parse(GuestListQuery, query)),
    }),
    readFile: async ({ query }) => {
      const range = await openRange(files(), parse(GuestReadQuery, query))
      const headers = {
        'content-type': 'application/octet-stream',
        'x-file-size': String(range.size),
        'x-file-path': encodeURIComponent(range.path),
      }
      if (range.fd === undefined) return { bytes: range.bytes ?? Buffer.alloc(0), headers }
      return { fd: range.fd, offset: range.offset, length: range.length, headers }
    },
    writeFile: async ({ query, body, isBodyComplete }) => {
      const { path, mode, ...request } = parse(GuestWriteQuery, query)
      const options = {
        path,
        append: request.append === 'true',
        createParents: request.create_parents === 'true',
        mode: mode === undefined ? undefined : parseInt(mode, 8),
      }
      const content = { stream: body, isComplete: isBodyComplete }
      return { json: await writeFile(files(), options, content) }
    },
    readArchive: async ({ query }) => {
      const chunks = await archiveDirectory(files(), parse(GuestArchiveQuery, query).path)
      return { chunks, headers: { 'content-type': 'application/x-tar' } }
    },
    writeArchive: async ({ query, body }) => ({
      json: await extractArchive(files(), parse(GuestArchiveQuery, query).path, body),
    }),
    deleteFile: async ({ query, signal }) => {
      const { path, recursive } = parse(GuestDeleteQuery, query)
      await removeFile(files(), { path, recursive: recursive === 'true' }, signal)
      return { json: {} }
    },
    moveFile: async ({ body }) => ({
      json: await moveFile(files(), await parseBody(GuestMove, body)),
    }),
  }
}
