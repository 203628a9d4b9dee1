import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { MachineId, OrganizationId, PreviewId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { NoContent, text, Timestamp } from './text.ts'

export const PreviewAccess = z.enum(['private', 'public']).meta({ id: 'PreviewAccess' })
export type PreviewAccess = z.infer<typeof PreviewAccess>

/** A port of a machine, published at a hostname of its own. */
export const Preview = z
  .object({
    id: PreviewId,
    organization_id: OrganizationId,
    machine_id: MachineId,
    port: z.int().min(1).max(65_535).describe('Inside the machine.'),
    name: z.string().nullable(),
    access: PreviewAccess,
    url: z.string().describe('Where it answers, for as long as it is published.'),
    secret: z
      .string()
      .nullable()
      .describe('Opens a private one: authorization: Bearer, or x-preview-secret. Shown once.'),
    access_url: z
      .string()
      .nullable()
      .describe('A link that opens a private one in a browser, once, within a day. Shown once.'),
    created_at: Timestamp,
    last_request_at: Timestamp.nullable().describe('When it was last reached, to a few seconds.'),
  })
  .meta({ id: 'Preview' })
export type Preview = z.infer<typeof Preview>

export const PublishPort = z.strictObject({
  port: z.int().min(1).max(65_535).describe('Nothing has to listen on it.'),
  name: text(100, 1).optional(),
  access: PreviewAccess.default('private').describe('Public: for everybody who has the address.'),
})
export type PublishPort = z.infer<typeof PublishPort>

const params = z.object({ machine_id: MachineId })
const oneOf = z.object({ machine_id: MachineId, preview_id: PreviewId })
const path = '/v1/machines/{machine_id}/ports'

export const ports = {
  publish: endpoint({
    method: 'POST',
    path,
    summary: 'Publish a port of a machine. One that is published already answers what there is.',
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
    summary: 'Read one.',
    requires: 'member',
    params: oneOf,
    status: 200,
    response: Preview,
  }),
  unpublish: endpoint({
    method: 'DELETE',
    path: `${path}/{preview_id}`,
    summary: 'Stop publishing a port. Its hostname answers no more and is never given again.',
    requires: 'ports:write',
    params: oneOf,
    status: 204,
    response: NoContent,
    audits: 'port.unpublished',
  }),
  listAll: endpoint({
    method: 'GET',
    path: '/v1/ports',
    summary: 'List every published port of the organization, newest first.',
    requires: 'member',
    query: PageQuery,
    status: 200,
    response: pageOf(Preview),
  }),
}
