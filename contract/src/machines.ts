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
 * The states a machine may enter from each state (specification, States and transitions). `running`
 * to `stopped` is a guest that powered itself off, `stopping` to `running` a failed shutdown, and
 * `error` to `stopped` a restore, whose disk the next start boots.
 */
export const machineTransitions = {
  creating: ['running', 'stopped', 'error', 'deleting'],
  running: ['stopping', 'stopped', 'error', 'deleting'],
  stopping: ['stopped', 'running', 'error', 'deleting'],
  stopped: ['starting', 'error', 'deleting'],
  starting: ['running', 'stopped', 'error', 'deleting'],
  error: ['starting', 'stopped', 'deleting'],
  deleting: [],
} as const satisfies Record<MachineState, readonly MachineState[]>

/** States in which no operation is in progress. */
export const restingStates: readonly MachineState[] = ['running', 'stopped', 'error']

export const MachineOs = z.enum(['linux']).meta({ id: 'MachineOs' })
export const MachineSize = z.enum(['small', 'standard', 'large']).meta({ id: 'MachineSize' })
export type MachineSize = z.infer<typeof MachineSize>

export const MachineName = z
  .string()
  .min(1)
  .max(63)
  .regex(
    /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/,
    'must be lower-case letters, digits and hyphens, and not begin or end with a hyphen',
  )
const Region = text(63, 1).describe('A placement hint.')
const maxMetadataKeys = 64
export const MetadataKey = text(64, 1)
export const MetadataValue = text(1024)
const Metadata = z
  .record(MetadataKey, MetadataValue)
  .refine(
    (metadata) => Object.keys(metadata).length <= maxMetadataKeys,
    `must have at most ${maxMetadataKeys} keys`,
  )
  .meta({ maxProperties: maxMetadataKeys })
  .describe('Your own key-value pairs, stored and returned unchanged.')

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
    cpu_percent: z.number().describe('Use of all processors of the machine together, 0 to 100.'),
    memory_used_mb: z.int(),
    disk_used_bytes: z
      .int()
      .nullable()
      .describe(
        'The bytes on its disk beyond the image, which count toward disk_gb, at most some seconds ago. Null if they cannot be measured in time.',
      ),
    processes: z.int(),
  })
  .meta({ id: 'MachineUsage' })

export const CreateMachine = z.strictObject({
  name: MachineName.optional(),
  size: MachineSize.optional().describe('Default: the size of the template, or small.'),
  image_id: ImageId.optional(),
  template: TemplateId.optional(),
  region: Region.optional(),
  metadata: Metadata.default({}),
  start: z
    .boolean()
    .default(true)
    .describe('Whether to boot the machine. If false, it is created in state stopped.'),
})
export type CreateMachine = z.infer<typeof CreateMachine>

const params = z.object({ machine_id: MachineId })
const wait = z.strictObject({
  wait: z.coerce
    .number()
    .min(0)
    .max(120)
    .default(0)
    .describe(
      'Wait up to this many seconds for the machine to settle (running, stopped or error).',
    ),
})

export const machines = {
  create: endpoint({
    method: 'POST',
    path: '/v1/machines',
    summary:
      'Create a machine. Responds when it is running, or after 120 seconds in state creating.',
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
      search: text(63, 1)
        .optional()
        .describe('Lists only machines whose name begins with this text, in any case.'),
      template_id: TemplateId.optional(),
      metadata: z
        .record(text(64, 1), text(1024))
        .optional()
        .describe('metadata[key]=value lists only machines that have all of these pairs.'),
    }),
    status: 200,
    response: pageOf(Machine),
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}',
    summary: 'Get a machine.',
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
    summary: 'Shut down a running machine. Its disk is kept.',
    requires: 'machines:control',
    params,
    query: wait,
    body: z.strictObject({
      force: z
        .boolean()
        .default(false)
        .describe('Power off at once. Otherwise the machine has 30 seconds to shut down.'),
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
    summary: 'Delete a machine and its disk. Its snapshots are kept, unless asked otherwise.',
    requires: 'machines:delete',
    queryRequires: { snapshots: 'snapshots:delete' },
    params,
    query: z.strictObject({
      snapshots: z
        .enum(['delete'])
        .optional()
        .describe(
          'Delete its snapshots as well, newest first. Templates and forks based on them keep their disk.',
        ),
    }),
    status: 202,
    response: Machine,
  }),
  fork: endpoint({
    method: 'POST',
    path: '/v1/machines/{machine_id}/fork',
    summary: 'Create a machine from the current disk of another one, or from one of its snapshots.',
    requires: 'machines:create',
    params,
    body: z.strictObject({
      name: MachineName.optional(),
      snapshot_id: SnapshotId.optional().describe(
        'A snapshot of the source. Without it, the source must be running.',
      ),
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
      "Roll a machine back to one of its snapshots. Its current disk is kept as the snapshot 'Before restore'.",
    requires: 'machines:control',
    params,
    query: wait,
    body: z.strictObject({ snapshot_id: SnapshotId }),
    status: 202,
    response: Machine,
    creates: true,
  }),
  usage: endpoint({
    method: 'GET',
    path: '/v1/machines/{machine_id}/usage-now',
    summary: 'Get the current CPU, memory and disk usage of a running machine.',
    requires: 'member',
    params,
    status: 200,
    response: MachineUsage,
  }),
}
