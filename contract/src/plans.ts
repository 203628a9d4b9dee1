import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { QuotaLimit } from './errors.ts'
import { PageQuery, pageOf } from './list.ts'
import { MachineSize } from './machines.ts'
import { text } from './text.ts'

export const Meter = z
  .enum([
    'compute_small_seconds',
    'compute_standard_seconds',
    'compute_large_seconds',
    'hot_storage_byte_seconds',
    'cold_storage_byte_seconds',
    'egress_bytes',
  ])
  .meta({
    id: 'Meter',
    description:
      'Seconds that machines of a size ran, bytes of disks and of captured disks times seconds, and bytes that the gateway served: previews, live screens and terminals.',
  })
export type Meter = z.infer<typeof Meter>

export const MeterUnit = z.enum(['seconds', 'byte_seconds', 'bytes']).meta({ id: 'MeterUnit' })
export type MeterUnit = z.infer<typeof MeterUnit>

/** An exact quantity, of any size. */
export const Quantity = z
  .string()
  .regex(/^\d+$/)
  .describe('A whole number as a decimal string, of any size.')

export const Currency = z.string().describe('An ISO 4217 code in lower case, such as usd.')

export const WhenUsedUp = z.enum(['allow', 'refuse', 'stop']).meta({ id: 'WhenUsedUp' })
export type WhenUsedUp = z.infer<typeof WhenUsedUp>

const Entitlement = z.int().nullable().describe('Null: negotiated, never unlimited.')

export const Plan = z
  .object({
    id: z.string(),
    name: z.string(),
    limits: z.object(
      Object.fromEntries(QuotaLimit.options.map((limit) => [limit, Entitlement])) as Record<
        QuotaLimit,
        typeof Entitlement
      >,
    ),
    largest_size: MachineSize.nullable().describe('Null: negotiated.'),
    included_standard_hours: Entitlement.describe(
      'Compute that each month includes, in hours of a machine of size standard. Null: negotiated.',
    ),
    included_hot_storage_bytes: Entitlement.describe(
      'Disk that may exist all month without cost. Null: negotiated.',
    ),
    overage_allowed: z
      .boolean()
      .describe('Whether use beyond what is included is charged. If not, it costs nothing.'),
    when_used_up: WhenUsedUp.describe(
      'What happens once the included compute of a period is used up, of a plan without overage. allow: nothing. refuse: no machine can be started. stop: those that run are also stopped.',
    ),
    price_cents: z.int().nullable().describe('The price of a month. Null: negotiated.'),
    currency: Currency,
  })
  .meta({ id: 'Plan' })
export type Plan = z.infer<typeof Plan>

export const CatalogSize = z
  .object({
    id: MachineSize,
    cpu: z.int(),
    memory_mb: z.int(),
    disk_gb: z.int(),
    weight_milli: z
      .int()
      .describe('The compute of an hour of this size, in thousandths of a standard-hour.'),
  })
  .meta({ id: 'CatalogSize' })
export type CatalogSize = z.infer<typeof CatalogSize>

export const PriceItem = z
  .enum(['compute', 'hot_storage', 'cold_storage', 'egress'])
  .meta({ id: 'PriceItem' })
export type PriceItem = z.infer<typeof PriceItem>

export const CatalogMeter = z
  .object({
    id: Meter,
    unit: MeterUnit,
    size: MachineSize.nullable().describe('The size of the machines that a compute meter is for.'),
    item: PriceItem.describe('The price that applies.'),
  })
  .meta({ id: 'CatalogMeter' })
export type CatalogMeter = z.infer<typeof CatalogMeter>

export const CatalogPrice = z
  .object({
    item: PriceItem,
    currency: Currency,
    cents: z
      .int()
      .nullable()
      .describe('The price of `per_units` units. Null: not priced, so free.'),
    per_units: Quantity.describe(
      'A decimal string. Units are byte-seconds of storage, bytes of egress, and thousandths of a standard-second of compute: the seconds of a size times its weight_milli.',
    ),
  })
  .meta({ id: 'CatalogPrice' })
export type CatalogPrice = z.infer<typeof CatalogPrice>

export const Catalog = pageOf(Plan)
  .extend({
    catalog_version: z.int(),
    sizes: z.array(CatalogSize).describe('In the order in which they use up included compute.'),
    meters: z.array(CatalogMeter),
    prices: z.array(CatalogPrice).describe('Prices of what is used beyond what a plan includes.'),
  })
  .meta({ id: 'Catalog' })
export type Catalog = z.infer<typeof Catalog>

export const PlanName = text(63, 1)

export const plans = {
  list: endpoint({
    method: 'GET',
    path: '/v1/plans',
    summary: 'Get the catalog in effect: plans, from the lowest to the highest, sizes and prices.',
    requires: 'member',
    query: PageQuery,
    status: 200,
    response: Catalog,
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/plans/{plan_id}',
    summary: 'Get a plan of the catalog in effect.',
    requires: 'member',
    params: z.object({ plan_id: PlanName }),
    status: 200,
    response: Plan,
  }),
}
