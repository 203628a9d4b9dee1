import type { ports, Preview } from '@computer/contract'
import type { App } from '../app.ts'
import type { PreviewRow } from '../db/database.ts'
import { previewUrl } from '../domain/previews/hosts.ts'
import {
  getPreview,
  listPreviews,
  publishPort,
  unpublishPort,
} from '../domain/previews/previews.ts'
import { JsonAnswer, type Routes } from './route.ts'
import { showTime } from './show.ts'

export function portRoutes(app: Pick<App, 'db' | 'changes' | 'config'>): Routes<typeof ports> {
  const show = (row: PreviewRow): Preview => ({
    ...row,
    url: previewUrl(app.config.previews, row.label),
    secret: null,
    access_url: null,
    created_at: row.created_at.toISOString(),
    last_request_at: showTime(row.last_request_at),
  })

  return {
    publish: async (actor, { params, body, newId }) => {
      const { preview, isNew, secret, accessUrl } = await publishPort(
        app,
        actor,
        params.machine_id,
        newId('prv'),
        body,
      )
      const answer = { ...show(preview), secret, access_url: accessUrl }
      return new JsonAnswer(answer, { status: isNew ? 201 : 200 })
    },
    list: async (actor, { params, query }) => {
      const page = await listPreviews(app.db, actor, { ...query, machineId: params.machine_id })
      return { ...page, data: page.data.map(show) }
    },
    get: async (actor, { params }) =>
      show(await getPreview(app.db, actor, params.machine_id, params.preview_id)),
    unpublish: async (actor, { params }) => {
      await unpublishPort(app, actor, params.machine_id, params.preview_id)
    },
    listAll: async (actor, { query }) => {
      const page = await listPreviews(app.db, actor, query)
      return { ...page, data: page.data.map(show) }
    },
  }
}
