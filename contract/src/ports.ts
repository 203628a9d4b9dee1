import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { MachineId, OrganizationId, PreviewId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { NoContent, text, Timestamp } from './text.ts'

export const PreviewAccess = z.enum(['private', 'public']).meta({ id: 'PreviewAccess' })
export type PreviewAccess = z.infer<typeof PreviewAccess>

/** A port of a machine, published under its own hostname. */
export const Preview = z
  .object({
    id: PreviewId,
    organization_id: OrganizationId,
    machine_id: MachineId,
    port: z.int().min(1).max(65_535).describe('The port inside the machine.'),
    name: z.string().nullable(),
    access: PreviewAccess,
    url: z.string().describe('The address of the preview while the port is published.'),
    secret: z
      .string()
      .nullable()
      .describe(
        'The credential of a private preview, sent as authorization: Bearer or x-preview-secret. Returned once.',
      ),
    access_url: z
      .string()
      .nullable()
      .describe(
        'A link that opens a private preview in one browser, once, within a day. Returned once.',
      ),
    created_at: Timestamp,
    last_request_at: Timestamp.nullable().describe(
      'The time of the last request, accurate to a few seconds.',
    ),
  })
  .meta({ id: 'Preview' })
export type Preview = z.infer<typeof Preview>

export const PublishPort = z.strictObject({
  port: z.int().min(1).max(65_535).describe('Nothing needs to listen on it yet.'),
  name: text(100, 1).optional(),
  access: PreviewAccess.default('private').describe(
    'A public preview is open to everyone who knows its address.',
  ),
})
export type PublishPort = z.infer<typeof PublishPort>

const params = z.object({ machine_id: MachineId })
const oneOf = z.object({ machine_id: MachineId, preview_id: PreviewId })
const path = '/v1/machines/{machine_id}/ports'

export const ports = {
  publish: endpoint({
    method: 'POST',
    path,
    summary:
      'Publish a port of a machine. If it is already published, returns the existing preview.',
    requires: 'ports:write',
    params,
    body: PublishPort,
    status: 201,
    alsoStatus: 200,
    response: Preview,
    creates: true,
    audits: 'port.published',
  }),
  list: endpoint({
    method: 'GET',
    path,
    summary: 'List the published ports of a machine, newest first.',
    requires: 'member',
    params,
    query: PageQuery,
    status: 200,
    response: pageOf(Preview),
  }),
  get: endpoint({
    method: 'GET',
    path: `${path}/{preview_id}`,
    summary: 'Get a published port.',
    requires: 'member',
    params: oneOf,
    status: 200,
    response: Preview,
  }),
  unpublish: endpoint({
    method: 'DELETE',
    path: `${path}/{preview_id}`,
    summary: 'Unpublish a port. Its hostname stops working and is never reused.',
    requires: 'ports:write',
    params: oneOf,
    status: 204,
    response: NoContent,
    audits: 'port.unpublished',
  }),
  listAll: endpoint({
    method: 'GET',
    path: '/v1/ports',
    summary: 'List all published ports of the organization, newest first.',
    requires: 'member',
    query: PageQuery,
    status: 200,
    response: pageOf(Preview),
  }),
}
