import type { Template, templates } from '@computer/contract'
import type { App } from '../app.ts'
import { createTemplate } from '../domain/disks/template-creation.ts'
import {
  deleteTemplate,
  getTemplate,
  listTemplates,
  updateTemplate,
  type TemplateWithState,
} from '../domain/disks/templates.ts'
import { JsonAnswer, type Routes } from './route.ts'

export function templateRoutes(app: Pick<App, 'db' | 'changes'>): Routes<typeof templates> {
  return {
    create: async (actor, { body, newId }) => {
      const template = await createTemplate(app, actor, newId('tpl'), body)
      return new JsonAnswer(show(template), { status: template.state === 'building' ? 202 : 201 })
    },
    list: async (actor, { query }) => {
      const page = await listTemplates(app.db, actor, query)
      return { ...page, data: page.data.map(show) }
    },
    get: async (actor, { params }) => show(await getTemplate(app.db, actor, params.template_id)),
    update: async (actor, { params, body }) =>
      show(await updateTemplate(app, actor, params.template_id, body)),
    delete: async (actor, { params }) => {
      await deleteTemplate(app, actor, params.template_id)
    },
  }
}

function show(row: TemplateWithState): Template {
  return { ...row, created_at: row.created_at.toISOString() }
}
