import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { ImageId, MachineId, OrganizationId, SnapshotId, TemplateId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { text, Timestamp } from './text.ts'

export const MachineState = z
  .enum(['creating', 'running', 'stopping', 'stopped', 'starting', 'error', 'deleting'])
  .meta({ id: 'MachineState' })
export type MachineState = z.infer<typeof MachineState>

/**
 * Where a machine may go from each state (specification, States and transitions). `running` to
 * `stopped` is a guest that powered itself off; `stopping` to `running` a shutdown that failed;
 * `error` to `stopped` a restore, whose disk the next start boots.
 */
export const machineTransitions = {
  creating: ['running', 'stopped', 'error', 'deleting'],
  running: ['stopping', 'stopped', 'error', 'deleting'],
  stopping: ['stopped', 'running', 'error', 'deleting'],
  stopped: ['starting', 'deleting'],
  starting: ['running', 'stopped', 'error', 'deleting'],
  error: ['starting', 'stopped', 'deleting'],
  deleting: [],
} as const satisfies Record<MachineState, readonly MachineState[]>

/** States a machine stays in until somebody asks for something. */
export const restingStates: readonly MachineState[] = ['running', 'stopped', 'error']

export const MachineOs = z.enum(['linux']).meta({ id: 'MachineOs' })
export const MachineSize = z.enum(['small', 'standard', 'large']).meta({ id: 'MachineSize' })
export type MachineSize = z.infer<typeof MachineSize>

export const MachineName = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, 'must be lower-case letters, digits and inner hyphens')
export const Region = text(63, 1).describe('A placement hint.')
export const Metadata = z
  .record(text(64, 1), text(1024))
  .refine((metadata) => Object.keys(metadata).length <= 64, 'at most 64 keys')
  .describe('Key/value pairs of the caller, echoed back unchanged.')

export const Machine = z
  .object({
    id: MachineId,
    organization_id: OrganizationId,
    name: MachineName,
    state: MachineState,
    os: MachineOs,
    size: MachineSize,
    image_id: ImageId,
    template_id: TemplateId.nullable(),
    cpu: z.int(),
    memory_mb: z.int(),
    disk_gb: z.int(),
    region: Region,
    metadata: Metadata,
    created_at: Timestamp,
    started_at: Timestamp.nullable(),
    stopped_at: Timestamp.nullable(),
  })
  .meta({ id: 'Machine' })
export type Machine = z.infer<typeof Machine>

export const MachineUsage = z
  .object({
    cpu_percent: z.number().describe('Of all its processors together, 0 to 100.'),
    memory_used_mb: z.int(),
    disk_used_bytes: z.int().nullable().describe('Null where the machine cannot tell.'),
    processes: z.int(),
  })
  .meta({ id: 'MachineUsage' })

export const CreateMachine = z.strictObject({
  name: MachineName.optional(),
  size: MachineSize.optional().describe("Default: the template's, or small."),
  image_id: ImageId.optional(),
  template: TemplateId.optional(),
  region: Region.optional(),
  metadata: Metadata.default({}),
  start: z.boolean().default(true).describe('false: the machine is born stopped.'),
})
export type CreateMachine = z.infer<typeof CreateMachine>

const params = z.object({ machine_id: MachineId })
const wait = z.strictObject({
  wait: z.coerce
    .number()
    .min(0)
    .max(120)
    .default(0)
    .describe('Seconds to hold the answer until the machine rests.'),
})

export const machines = {
  create: endpoint({
    method: 'POST',
    path: '/v1/machines',
    summary: 'Create a machine. Answers once it runs; after 120 s in state creating.',
    requires: 'machines:create',
    body: CreateMachine,
    status: 201,
    response: Machine,
    creates: true,
  }),
  list: endpoint({
    method: 'GET',
    path: '/v1/machines',
    summary: 'List machines, newest first.',
    requires: 'member',
    query: PageQuery.extend({
      state: MachineState.optional(),
      name: MachineName.optional(),
      template_id: TemplateId.optional(),
      metadata: z
        .record(text(64, 1), text(1024))
        .optional()
        .describe('metadata[key]=value: only machines that carry all of these pairs.'),
    }),
    status: 200,
    response: pageOf(Machine),
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}',
    summary: 'Read one machine.',
    requires: 'member',
    params,
    status: 200,
    response: Machine,
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/v1/machines/{machine_id}',
    summary: 'Rename a machine, replace its metadata, or resize it while it is stopped.',
    requires: 'machines:control',
    params,
    body: z.strictObject({
      name: MachineName.optional(),
      metadata: Metadata.optional(),
      size: MachineSize.optional(),
    }),
    status: 200,
    response: Machine,
  }),
  start: endpoint({
    method: 'POST',
    path: '/v1/machines/{machine_id}/start',
    summary: 'Boot a stopped machine from its disk.',
    requires: 'machines:control',
    params,
    query: wait,
    status: 202,
    response: Machine,
  }),
  stop: endpoint({
    method: 'POST',
    path: '/v1/machines/{machine_id}/stop',
    summary: 'Shut a running machine down. Its disk is kept.',
    requires: 'machines:control',
    params,
    query: wait,
    body: z.strictObject({
      force: z
        .boolean()
        .default(false)
        .describe('Pull the plug. Otherwise that follows after 30 s.'),
    }),
    status: 202,
    response: Machine,
  }),
  restart: endpoint({
    method: 'POST',
    path: '/v1/machines/{machine_id}/restart',
    summary: 'Stop a running machine and start it again.',
    requires: 'machines:control',
    params,
    query: wait,
    status: 202,
    response: Machine,
  }),
  delete: endpoint({
    method: 'DELETE',
    path: '/v1/machines/{machine_id}',
    summary: 'Delete a machine and its disk.',
    requires: 'machines:delete',
    params,
    status: 202,
    response: Machine,
  }),
  fork: endpoint({
    method: 'POST',
    path: '/v1/machines/{machine_id}/fork',
    summary: 'Branch a machine: a new one from its disk as it is now, or from a snapshot of it.',
    requires: 'machines:create',
    params,
    body: z.strictObject({
      name: MachineName.optional(),
      snapshot_id: SnapshotId.optional().describe('Without it the source must be running.'),
      metadata: Metadata.optional(),
    }),
    status: 201,
    response: Machine,
    creates: true,
  }),
  restore: endpoint({
    method: 'POST',
    path: '/v1/machines/{machine_id}/restore',
    summary:
      "Put a machine back onto a snapshot of it. Its disk of now is kept as 'Before restore'.",
    requires: 'machines:control',
    params,
    query: wait,
    body: z.strictObject({ snapshot_id: SnapshotId }),
    status: 202,
    response: Machine,
  }),
  usage: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}/usage-now',
    summary: 'Live figures of a running machine.',
    requires: 'member',
    params,
    status: 200,
    response: MachineUsage,
  }),
}
