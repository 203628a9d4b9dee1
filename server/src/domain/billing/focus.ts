import type { MachineSize, Meter, OrganizationId } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { Config } from '../../config.ts'
import type { Database } from '../../db/database.ts'
import { allocate } from '../rating-allocation.ts'
import { toRounded } from '../rating-decimals.ts'
import { priceItemOf, unitOf, type Tariff } from '../rating.ts'
import { readDailyUsage, type DailyUsage } from './daily-usage.ts'
import type { Adjustment } from './adjustments.ts'
import { findPeriod } from './periods.ts'
import { summarize } from './summary.ts'

/*
 * The costs of a billing period in the format FOCUS 1.2 of the FinOps Foundation (focus.finops.org): a row for
 * each machine, meter and day, by caller and labels. Each line of the summary is split among its rows in
 * proportion to what they used, so that the billed costs of the rows add up to the line, to the cent.
 */

const dayMs = 86_400_000

/** Decimals of quantities, prices and list costs, which may have any number of them. */
const decimals = 12

/** The rows of the CSV file, the head first. */
export async function* readFocus(
  db: Database,
  config: Pick<Config, 'dashboardUrl' | 'region'>,
  { organizationId }: Pick<Actor, 'organizationId'>,
  time: Date | undefined,
): AsyncGenerator<readonly string[]> {
  const period = await findPeriod(db, organizationId, time)
  const summary = await summarize(db, period)
  const { starts_at: start, ends_at: end } = period
  const shared = {
    ...(await readAccount(db, organizationId)),
    ...providerOf(config),
    BillingCurrency: summary.currency.toUpperCase(),
    BillingPeriodStart: showTime(start),
    BillingPeriodEnd: showTime(end),
  }
  yield columns
  for (const { meter, amountCents } of summary.lines) {
    const days = await readDailyUsage(db, organizationId, { start, end, meter })
    if (days.length === 0) continue
    const shares = allocate(
      amountCents,
      days.map(({ quantity }) => quantity),
    )
    const meterFields = { ...shared, ...fieldsOfMeter(meter, period.catalog_version) }
    for (const [index, usage] of days.entries()) {
      const row: Row = {
        ...meterFields,
        ...fieldsOfDay(usage, { start, end }),
        ...costs(summary.tariff, meter, usage.quantity, shares[index]!),
      }
      yield columns.map((column) => row[column] ?? '')
    }
  }
  for (const adjustment of summary.adjustments) {
    const row: Row = { ...shared, ...fieldsOfAdjustment(adjustment) }
    yield columns.map((column) => row[column] ?? '')
  }
}

type Row = { readonly [Column in (typeof columns)[number]]?: string }

async function readAccount(db: Database, organizationId: OrganizationId): Promise<Row> {
  const { name } = await db
    .selectFrom('organizations')
    .select('name')
    .where('id', '=', organizationId)
    .executeTakeFirstOrThrow()
  return { BillingAccountId: organizationId, BillingAccountName: name }
}

function providerOf({ dashboardUrl, region }: Pick<Config, 'dashboardUrl' | 'region'>): Row {
  const { hostname } = new URL(dashboardUrl)
  return {
    ProviderName: hostname,
    InvoiceIssuerName: hostname,
    PublisherName: 'Computer',
    RegionId: region,
    RegionName: region,
  }
}

function fieldsOfMeter(meter: Meter, catalogVersion: number): Row {
  const service = services[priceItemOf(meter)]
  const { consumed, priced } = units[unitOf(meter)]
  return {
    ...service,
    ChargeCategory: 'Usage',
    ChargeFrequency: 'Usage-Based',
    ChargeDescription: meter.replaceAll('_', ' '),
    ConsumedUnit: consumed,
    PricingUnit: priced,
    SkuId: meter,
    SkuMeter: meter,
    SkuPriceId: `${meter}-v${catalogVersion}`,
  }
}

const services = {
  compute: {
    ServiceCategory: 'Compute',
    ServiceSubcategory: 'End User Computing',
    ServiceName: 'Machines',
  },
  hot_storage: {
    ServiceCategory: 'Storage',
    ServiceSubcategory: 'Block Storage',
    ServiceName: 'Disks',
  },
  cold_storage: {
    ServiceCategory: 'Storage',
    ServiceSubcategory: 'Backup Storage',
    ServiceName: 'Snapshots and templates',
  },
  egress: {
    ServiceCategory: 'Networking',
    ServiceSubcategory: 'Network Connectivity',
    ServiceName: 'Served traffic',
  },
} as const

const gibibyte = 2n ** 30n

/** Units in which usage is counted, and larger ones for prices that people can read. */
const units = {
  seconds: { consumed: 'Seconds', priced: 'Hours', perPriced: 3_600n },
  byte_seconds: { consumed: 'B-Seconds', priced: 'GiB-Hours', perPriced: 3_600n * gibibyte },
  bytes: { consumed: 'B', priced: 'GiB', perPriced: gibibyte },
} as const

function fieldsOfDay(
  { day, ...usage }: DailyUsage,
  { start, end }: { readonly start: Date; readonly end: Date },
): Row {
  return {
    ChargePeriodStart: showTime(new Date(Math.max(day.getTime(), start.getTime()))),
    ChargePeriodEnd: showTime(new Date(Math.min(day.getTime() + dayMs, end.getTime()))),
    ResourceId: usage.machine_id,
    ResourceName: usage.machine_name,
    ResourceType: 'Machine',
    Tags: JSON.stringify(usage.labels),
    x_ActorType: usage.actor_type ?? '',
    x_ActorId: usage.actor_id ?? '',
    x_ActorName: usage.actor_name ?? '',
  }
}

/** A correction of what was billed before. */
function fieldsOfAdjustment({ amount_cents, reason, created_at: at }: Adjustment): Row {
  const start = new Date(Math.floor(at.getTime() / dayMs) * dayMs)
  return {
    ChargeCategory: 'Adjustment',
    ChargeClass: 'Correction',
    ChargeFrequency: 'One-Time',
    ChargeDescription: reason,
    ChargePeriodStart: showTime(start),
    ChargePeriodEnd: showTime(new Date(start.getTime() + dayMs)),
    ServiceCategory: 'Other',
    ServiceSubcategory: 'Other (Other)',
    ServiceName: 'Billing',
    ListCost: showCents(BigInt(amount_cents)),
    ...costsOf(BigInt(amount_cents)),
  }
}

/** List costs are at the price of the catalog, as if nothing were included. */
function costs(tariff: Tariff, meter: Meter, quantity: bigint, shareCents: bigint): Row {
  const { cents, perUnits } = priceOf(tariff, meter)
  const { perPriced } = units[unitOf(meter)]
  return {
    ConsumedQuantity: String(quantity),
    PricingQuantity: toRounded(quantity, perPriced, decimals),
    ListUnitPrice: toRounded(cents * perPriced, 100n * perUnits, decimals),
    ListCost: toRounded(cents * quantity, 100n * perUnits, decimals),
    ...costsOf(shareCents),
  }
}

function costsOf(cents: bigint): Row {
  const billed = showCents(cents)
  return { ContractedCost: billed, EffectiveCost: billed, BilledCost: billed }
}

function showCents(cents: bigint): string {
  return cents < 0n ? `-${showCents(-cents)}` : toRounded(cents, 100n, 2)
}

/** The price of a unit of the meter: a second of a larger size is a multiple of a standard-second. */
function priceOf({ prices, sizes }: Tariff, meter: Meter) {
  const { cents, perUnits } = prices[priceItemOf(meter)] ?? { cents: 0n, perUnits: 1n }
  const size = /^compute_(.*)_seconds$/.exec(meter)?.[1] as MachineSize | undefined
  const weight = sizes.find(({ id }) => id === size)?.weightMilli ?? 1n
  return { cents: cents * weight, perUnits }
}

function showTime(time: Date): string {
  return time.toISOString().replace('.000Z', 'Z')
}

const columns = [
  'BilledCost',
  'BillingAccountId',
  'BillingAccountName',
  'BillingCurrency',
  'BillingPeriodEnd',
  'BillingPeriodStart',
  'ChargeCategory',
  'ChargeClass',
  'ChargeDescription',
  'ChargeFrequency',
  'ChargePeriodEnd',
  'ChargePeriodStart',
  'ConsumedQuantity',
  'ConsumedUnit',
  'ContractedCost',
  'EffectiveCost',
  'InvoiceIssuerName',
  'ListCost',
  'ListUnitPrice',
  'PricingQuantity',
  'PricingUnit',
  'ProviderName',
  'PublisherName',
  'RegionId',
  'RegionName',
  'ResourceId',
  'ResourceName',
  'ResourceType',
  'ServiceCategory',
  'ServiceName',
  'ServiceSubcategory',
  'SkuId',
  'SkuMeter',
  'SkuPriceId',
  'Tags',
  'x_ActorId',
  'x_ActorName',
  'x_ActorType',
] as const
