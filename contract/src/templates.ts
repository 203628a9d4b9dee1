import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { ImageId, MachineId, OrganizationId, SnapshotId, TemplateId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { MachineSize } from './machines.ts'
import { NoContent, text, Timestamp } from './text.ts'

export const TemplateState = z.enum(['building', 'ready', 'error']).meta({ id: 'TemplateState' })
export type TemplateState = z.infer<typeof TemplateState>

const TemplateName = text(255, 1)

export const Template = z
  .object({
    id: TemplateId,
    organization_id: OrganizationId,
    name: TemplateName,
    description: z.string(),
    state: TemplateState,
    image_id: ImageId,
    size: MachineSize.describe('The size of machines that do not request one.'),
    snapshot_id: SnapshotId.nullable().describe(
      'The snapshot that the template was created from, while it exists.',
    ),
    source_machine_id: MachineId.nullable(),
    size_bytes: z.int().nullable(),
    created_at: Timestamp,
    error: z.string().nullable(),
  })
  .meta({ id: 'Template' })
export type Template = z.infer<typeof Template>

const params = z.object({ template_id: TemplateId })

export const CreateTemplate = z.strictObject({
  name: TemplateName,
  description: text(1024).default(''),
  snapshot_id: SnapshotId.optional().describe('Create the template from this snapshot.'),
  machine_id: MachineId.optional().describe(
    'Create the template from the current disk of this running machine.',
  ),
  image_id: ImageId.optional().describe(
    'Create the template from this image. Default: the default image of the server.',
  ),
  size: MachineSize.optional().describe('Default: the size of the captured machine, or small.'),
})
export type CreateTemplate = z.infer<typeof CreateTemplate>

export const templates = {
  create: endpoint({
    method: 'POST',
    path: '/v1/templates',
    summary: 'Create a template from a snapshot, a running machine, or an image and a size.',
    requires: 'templates:write',
    body: CreateTemplate,
    status: 202,
    alsoStatus: 201,
    response: Template,
    creates: true,
  }),
  list: endpoint({
    method: 'GET',
    path: '/v1/templates',
    summary: 'List templates, newest first.',
    requires: 'member',
    query: PageQuery.extend({ name: TemplateName.optional(), state: TemplateState.optional() }),
    status: 200,
    response: pageOf(Template),
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/templates/{template_id}',
    summary: 'Get a template.',
    requires: 'member',
    params,
    status: 200,
    response: Template,
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/v1/templates/{template_id}',
    summary: 'Change the name or the description of a template.',
    requires: 'templates:write',
    params,
    body: z.strictObject({ name: TemplateName.optional(), description: text(1024).optional() }),
    status: 200,
    response: Template,
  }),
  delete: endpoint({
    method: 'DELETE',
    path: '/v1/templates/{template_id}',
    summary: 'Delete a template. Machines created from it are not affected.',
    requires: 'templates:write',
    params,
    status: 204,
    response: NoContent,
  }),
}
