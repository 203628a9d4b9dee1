import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { ImageId, MachineId, OrganizationId, SnapshotId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { text, Timestamp } from './text.ts'

export const SnapshotState = z
  .enum(['pending', 'ready', 'error', 'deleting'])
  .meta({ id: 'SnapshotState' })
export type SnapshotState = z.infer<typeof SnapshotState>

export const SnapshotOrigin = z.enum(['manual', 'stop', 'template']).meta({
  id: 'SnapshotOrigin',
  description: 'Created by request (manual), when the machine stopped, or for a template.',
})
export type SnapshotOrigin = z.infer<typeof SnapshotOrigin>

export const Snapshot = z
  .object({
    id: SnapshotId,
    organization_id: OrganizationId,
    machine_id: MachineId,
    name: text(255, 1),
    state: SnapshotState,
    origin: SnapshotOrigin,
    includes_memory: z.literal(false),
    image_id: ImageId,
    size_bytes: z
      .int()
      .nullable()
      .describe('The bytes captured beyond the image. Null until ready.'),
    created_at: Timestamp,
    completed_at: Timestamp.nullable(),
    error: z.string().nullable(),
  })
  .meta({ id: 'Snapshot' })
export type Snapshot = z.infer<typeof Snapshot>

const params = z.object({ snapshot_id: SnapshotId })

export const snapshots = {
  create: endpoint({
    method: 'POST',
    path: '/v1/snapshots',
    summary: 'Snapshot the disk of a running machine. The machine keeps running.',
    requires: 'snapshots:write',
    body: z.strictObject({
      machine_id: MachineId,
      name: text(255, 1).optional().describe('Default: a generated name.'),
    }),
    status: 202,
    response: Snapshot,
    creates: true,
  }),
  list: endpoint({
    method: 'GET',
    path: '/v1/snapshots',
    summary: 'List snapshots, newest first.',
    requires: 'member',
    query: PageQuery.extend({
      machine_id: MachineId.optional(),
      origin: SnapshotOrigin.optional(),
      state: SnapshotState.optional(),
    }),
    status: 200,
    response: pageOf(Snapshot),
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/snapshots/{snapshot_id}',
    summary: 'Get a snapshot.',
    requires: 'member',
    params,
    status: 200,
    response: Snapshot,
  }),
  delete: endpoint({
    method: 'DELETE',
    path: '/v1/snapshots/{snapshot_id}',
    summary: 'Delete a snapshot. Only the newest snapshot of a machine can be deleted.',
    requires: 'snapshots:delete',
    params,
    status: 202,
    response: Snapshot,
  }),
}
