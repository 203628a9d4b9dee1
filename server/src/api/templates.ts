import type { templates } from '@computer/contract'
import type { App } from '../app.ts'
import { createTemplate } from '../domain/disks/template-creation.ts'
import {
  deleteTemplate,
  getTemplate,
  listTemplates,
  updateTemplate,
} from '../domain/disks/templates.ts'
import { JsonResponse, type Routes } from './route.ts'
import { pageToWire, rowToWire } from './to-wire.ts'

export function templateRoutes(app: Pick<App, 'db' | 'changes'>): Routes<typeof templates> {
  return {
    create: async (actor, { body, newId }) => {
      const template = await createTemplate(app, actor, newId('tpl'), body)
      return new JsonResponse(rowToWire(template), {
        status: template.state === 'building' ? 202 : 201,
      })
    },
    list: async (actor, { query }) =>
      pageToWire(await listTemplates(app.db, actor, query), rowToWire),
    get: async (actor, { params }) =>
      rowToWire(await getTemplate(app.db, actor, params.template_id)),
    update: async (actor, { params, body }) =>
      rowToWire(await updateTemplate(app, actor, params.template_id, body)),
    delete: async (actor, { params }) => {
      await deleteTemplate(app, actor, params.template_id)
    },
  }
}
