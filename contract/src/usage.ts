import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { ApiKeyId, MachineId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { MachineName, MachineSize, MetadataKey, MetadataValue } from './machines.ts'
import { Meter, Quantity } from './plans.ts'
import { Timestamp } from './text.ts'

export const UsageRecord = z
  .object({
    meter: Meter,
    size: MachineSize.nullable().describe('The size of the machine; null for storage and egress.'),
    quantity: Quantity,
    machine_id: MachineId.nullable().describe('Null in sums by key or label.'),
    machine_name: MachineName.nullable().describe('Its last name, if the machine is deleted.'),
    actor: z
      .object({
        type: z.enum(['user', 'api_key']),
        id: z.string(),
        name: z.string(),
      })
      .nullable()
      .describe(
        'The caller that usage counts for: it set the machine running, created its disk, or captured it. Null in sums by machine or label, and if it was not recorded.',
      ),
    labels: z
      .record(z.string(), z.string())
      .describe('The labels that the machine had then; in sums by label, that one alone.'),
    start: Timestamp,
    end: Timestamp.describe('What still goes on ends now.'),
  })
  .meta({ id: 'UsageRecord' })
export type UsageRecord = z.infer<typeof UsageRecord>

export const UsagePoint = z
  .object({
    start: Timestamp.describe('The start of the bucket, which may be before that of the window.'),
    meter: Meter,
    quantity: Quantity,
  })
  .meta({ id: 'UsagePoint' })
export type UsagePoint = z.infer<typeof UsagePoint>

export const UsageSeries = z
  .object({
    bucket_seconds: z
      .int()
      .describe('The width of a bucket: an hour for up to 7 days until now, else a day.'),
    data: z.array(UsagePoint).describe('The oldest first. Empty buckets are absent.'),
  })
  .meta({ id: 'UsageSeries' })
export type UsageSeries = z.infer<typeof UsageSeries>

const LabelKeys = z
  .object({
    keys: z.array(MetadataKey).describe('Keys of metadata, whose values are labels.'),
  })
  .meta({ id: 'UsageLabels' })
export type LabelKeys = z.infer<typeof LabelKeys>

const period = Timestamp.optional().describe(
  'Any time in a billing period. Default: now, for the current period.',
)

const window = {
  start: Timestamp.optional().describe('Default: the start of the current period.'),
  end: Timestamp.optional().describe(
    'Not included. At most 366 days after start. Default: the end of the current period.',
  ),
  meter: Meter.optional(),
  machine_id: MachineId.optional(),
  api_key_id: ApiKeyId.optional().describe('Usage that counts for this API key.'),
  label_key: MetadataKey.optional().describe('Usage with this label.'),
  label_value: MetadataValue.optional().describe('The value of label_key.'),
}

export const usage = {
  list: endpoint({
    method: 'GET',
    path: '/v1/usage',
    summary: 'List usage records of a time window, newest first.',
    requires: 'member',
    query: PageQuery.extend({
      ...window,
      group_by: z
        .enum(['machine', 'key', 'label'])
        .optional()
        .describe(
          'One record, the sum of the window, for each meter and machine, caller, or value of label_key.',
        ),
    }),
    status: 200,
    response: pageOf(UsageRecord),
  }),
  series: endpoint({
    method: 'GET',
    path: '/v1/usage/series',
    summary: 'Get the usage of a time window in buckets of an hour or a day.',
    requires: 'member',
    query: z.strictObject(window),
    status: 200,
    response: UsageSeries,
  }),
  labels: endpoint({
    method: 'GET',
    path: '/v1/usage/labels',
    summary: 'Get the keys of metadata that usage is counted by.',
    requires: 'member',
    status: 200,
    response: LabelKeys,
  }),
  setLabels: endpoint({
    method: 'PUT',
    path: '/v1/usage/labels',
    summary: 'Choose the keys of metadata that usage is counted by from now on.',
    requires: 'billing:manage',
    body: z.strictObject({
      keys: z
        .array(MetadataKey)
        .max(5)
        .refine((keys) => new Set(keys).size === keys.length, 'must be different keys'),
    }),
    status: 200,
    response: LabelKeys,
    audits: 'organization.labels_changed',
  }),
  export: endpoint({
    method: 'GET',
    path: '/v1/usage/export',
    summary: 'Export the usage of a billing period: its records, or its costs in the FOCUS format.',
    requires: 'member',
    query: z.strictObject({
      format: z
        .enum(['csv', 'focus'])
        .describe(
          'csv: the records of GET /v1/usage. focus: costs by machine, meter and day, as CSV of FinOps FOCUS 1.2.',
        ),
      period,
    }),
    status: 200,
    response: z.string(),
    textTypes: ['text/csv'],
  }),
  metrics: endpoint({
    method: 'GET',
    path: '/v1/usage/metrics',
    summary: 'Get what was used since the organization was created, as OpenMetrics counters.',
    requires: 'member',
    status: 200,
    response: z.string(),
    textTypes: ['application/openmetrics-text'],
  }),
}
