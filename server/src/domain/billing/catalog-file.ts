import { MachineSize, PriceItem, QuotaLimit, text, WhenUsedUp } from '@computer/contract'
import { z } from 'zod'

/*
 * The catalog as the file that an operator edits. It has the fields of GET /v1/plans, and every one of them:
 * a limit that is left out by mistake must not become a negotiated one. Files from before `when_used_up`
 * lack it, which means `allow`.
 */

const max = 1_000_000_000
const count = z.int().min(0).max(max)
const currency = z.string().regex(/^[a-z]{3}$/, 'must be an ISO 4217 code in lower case')

const FilePlan = z.strictObject({
  id: z.string().regex(/^[a-z][a-z0-9_-]{0,62}$/, 'must be lower-case letters, digits, _ and -'),
  name: text(100, 1),
  limits: z.strictObject(
    Object.fromEntries(QuotaLimit.options.map((limit) => [limit, count.nullable()])) as Record<
      QuotaLimit,
      z.ZodNullable<typeof count>
    >,
  ),
  largest_size: MachineSize.nullable(),
  included_standard_hours: count.nullable(),
  included_hot_storage_bytes: z.int().min(0).nullable(),
  overage_allowed: z.boolean(),
  when_used_up: WhenUsedUp.optional(),
  price_cents: count.nullable(),
  currency,
})

const FileSize = z.strictObject({
  id: MachineSize,
  cpu: z.int().min(1).max(1_000),
  memory_mb: z.int().min(256).max(max),
  disk_gb: z.int().min(1).max(1_000_000),
  weight_milli: z.int().min(1).max(1_000_000),
})

const FilePrice = z.strictObject({
  item: PriceItem,
  currency,
  cents: count.nullable(),
  per_units: z.string().regex(/^[1-9]\d{0,38}$/, 'must be a whole number as a string'),
})

export const CatalogFile = z
  .strictObject({
    catalog_version: z.int().optional(),
    effective_at: z.iso.datetime({ offset: true }).optional(),
    plans: z.array(FilePlan).min(1).max(100),
    sizes: z.array(FileSize),
    prices: z.array(FilePrice),
  })
  .refine(
    ({ plans }) =>
      plans.every((plan) => !plan.overage_allowed || (plan.when_used_up ?? 'allow') === 'allow'),
    'plans: when_used_up must be allow in a plan with overage_allowed',
  )
  .refine(({ plans }) => areUnique(plans.map(({ id }) => id)), 'plans: each id must be unique')
  .refine(
    ({ sizes }) =>
      sizes.length === MachineSize.options.length && areUnique(sizes.map(({ id }) => id)),
    `sizes: must be ${MachineSize.options.join(', ')}, each once`,
  )
  .refine(
    ({ prices }) => areUnique(prices.map(({ item, currency: unit }) => `${item} ${unit}`)),
    'prices: an item has one price in a currency',
  )
export type CatalogFile = z.infer<typeof CatalogFile>

function areUnique(values: readonly string[]): boolean {
  return new Set(values).size === values.length
}
