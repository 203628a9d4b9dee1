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
import { JsonResponse, type Routes } from './route.ts'
import { pageToWire, rowToWire } from './to-wire.ts'

export function portRoutes(app: Pick<App, 'db' | 'changes' | 'config'>): Routes<typeof ports> {
  /** Only the response of `publish` contains the secret and the URL with access. */
  const toWire = (row: PreviewRow): Preview => ({
    ...rowToWire(row),
    url: previewUrl(app.config.previews, row.label),
    secret: null,
    access_url: null,
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
      const published = { ...toWire(preview), secret, access_url: accessUrl }
      return new JsonResponse(published, { status: isNew ? 201 : 200 })
    },
    list: async (actor, { params, query }) => {
      const filter = { ...query, machineId: params.machine_id }
      return pageToWire(await listPreviews(app.db, actor, filter), toWire)
    },
    get: async (actor, { params }) =>
      toWire(await getPreview(app.db, actor, params.machine_id, params.preview_id)),
    unpublish: async (actor, { params }) => {
      await unpublishPort(app, actor, params.machine_id, params.preview_id)
    },
    listAll: async (actor, { query }) =>
      pageToWire(await listPreviews(app.db, actor, query), toWire),
  }
}
