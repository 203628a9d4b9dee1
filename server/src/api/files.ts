import type { files } from '@computer/contract'
import { basename } from 'node:path/posix'
import type { App } from '../app.ts'
import {
  decodeContent,
  deleteFile,
  listFiles,
  moveFile,
  openArchive,
  openFile,
  readFile,
  writeArchive,
  writeFile,
} from '../domain/guests/files.ts'
import { attachmentNamed } from './attachment.ts'
import { exactLength, failAsApi } from './exact-length.ts'
import { parseRange, unsatisfiable } from './range.ts'
import { BytesResponse, type Routes } from './route.ts'

export function fileRoutes(app: Pick<App, 'db' | 'guests'>): Routes<typeof files> {
  return {
    list: (actor, { params, query }) => listFiles(app, actor, params.machine_id, query),
    read: async (actor, { params, query, headers, wantsBytes, signal }) => {
      const isDownload = query.download === 'true'
      if (!wantsBytes && !isDownload) return readFile(app, actor, params.machine_id, query)
      const range = parseRange(headers.range) ?? { offset: query.offset }
      const target = { path: query.path, ...range }
      const file = await openFile(app, actor, params.machine_id, target, { signal })
      const part = headers.range !== undefined
      if (part && range.offset >= file.size) {
        file.stream.destroy()
        throw unsatisfiable(file.size)
      }
      const start = Math.min(range.offset, file.size)
      const end = Math.min(start + (range.length ?? file.size), file.size)
      return new BytesResponse(
        exactLength(file.stream, end - start),
        {
          'content-type': 'application/octet-stream',
          'content-length': end - start,
          'accept-ranges': 'bytes',
          'x-file-path': encodeURI(file.path),
          ...(isDownload && { 'content-disposition': attachmentNamed(basename(query.path)) }),
          ...(part && { 'content-range': `bytes ${start}-${end - 1}/${file.size}` }),
        },
        part ? 206 : 200,
      )
    },
    write: async (actor, { params, body, upload, signal }) => {
      const bytes = upload ? upload.bytes : decodeContent(body.content, body.encoding)
      const { path, append, create_parents, mode } = upload ? upload.query : body
      const target = {
        path,
        append: String(append) as 'true' | 'false',
        create_parents: String(create_parents) as 'true' | 'false',
        ...(mode !== undefined && { mode }),
      }
      return writeFile(app, actor, params.machine_id, target, bytes, { signal })
    },
    readArchive: async (actor, { params, query, signal }) => {
      const archive = await openArchive(app, actor, params.machine_id, query, { signal })
      return new BytesResponse(failAsApi(archive), {
        'content-type': 'application/x-tar',
        'content-disposition': attachmentNamed(`${basename(query.path)}.tar`),
      })
    },
    writeArchive: async (actor, { params, upload, signal }) => {
      const { query, bytes } = upload!
      return writeArchive(app, actor, params.machine_id, query, bytes, { signal })
    },
    delete: async (actor, { params, query, signal }) => {
      await deleteFile(app, actor, params.machine_id, query, { signal })
      return undefined
    },
    move: (actor, { params, body, signal }) =>
      moveFile(app, actor, params.machine_id, body, { signal }),
  }
}
