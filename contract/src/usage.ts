import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { MachineId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { MachineName, MachineSize } from './machines.ts'
import { Meter, Quantity } from './plans.ts'
import { Timestamp } from './text.ts'

export const UsageRecord = z
  .object({
    meter: Meter,
    size: MachineSize.nullable().describe('The size of the machine; null for storage and egress.'),
    quantity: Quantity,
    machine_id: MachineId,
    machine_name: MachineName.describe('Its last name, if the machine is deleted.'),
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

const window = {
  start: Timestamp.optional().describe('Default: the start of the current period.'),
  end: Timestamp.optional().describe(
    'Not included. At most 366 days after start. Default: the end of the current period.',
  ),
  meter: Meter.optional(),
  machine_id: MachineId.optional(),
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
        .enum(['machine'])
        .optional()
        .describe('One record for each meter of a machine, the sum of the window.'),
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
}
