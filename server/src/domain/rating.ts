import type { MachineSize, Meter, MeterUnit, PriceItem } from '@computer/contract'

/*
 * What the usage of a period costs. Pure, and exact: quantities and amounts are bigints, and each line is
 * rounded once. The lines are those that are shown, so their sum is the total.
 */

export const storageAndEgressMeters = [
  'hot_storage_byte_seconds',
  'cold_storage_byte_seconds',
  'egress_bytes',
] as const satisfies readonly Meter[]

/** `cents` for every `perUnits` units. */
export type Price = { readonly cents: bigint; readonly perUnits: bigint }

export type RatedSize = { readonly id: MachineSize; readonly weightMilli: bigint }

/** What a period is priced under. */
export type Tariff = ComputeAllowance & {
  /** In the order in which they use up the included compute. */
  readonly sizes: readonly RatedSize[]
  /** An item that is not priced is absent: it costs nothing. */
  readonly prices: Readonly<Partial<Record<PriceItem, Price>>>
  readonly includedHotStorageBytes: bigint
  readonly overageAllowed: boolean
}

/** Of the included compute, the part that a period has. */
export type ComputeAllowance = {
  readonly includedStandardHours: bigint
  readonly periodSeconds: bigint
  /** The seconds of the month that the allowance of compute is for. */
  readonly allowanceSeconds: bigint
}

export type Usage = ReadonlyMap<Meter, bigint>

export type RatedLine = {
  readonly meter: Meter
  readonly quantity: bigint
  readonly included: bigint
  /** Included and billable add up to the quantity. */
  readonly billable: bigint
  readonly amountCents: bigint
}

/** Of compute, in thousandths of a standard-second. */
export type Credits = {
  readonly included: bigint
  readonly used: bigint
  /** Never below 0. */
  readonly remaining: bigint
}

export type Rating = {
  readonly lines: readonly RatedLine[]
  readonly credits: Credits
  readonly totalCents: bigint
}

/** Thousandths of a standard-second in a standard-hour. */
export const standardHour = 3_600_000n

/** Rates the usage of a period. Every meter has a line, used or not. */
export function rate(tariff: Tariff, usage: Usage): Rating {
  const included = includedCompute(tariff)
  let [pool, used] = [included, 0n]
  const compute = tariff.sizes.map(({ id, weightMilli }) => {
    const meter = `compute_${id}_seconds` as const
    const seconds = usage.get(meter) ?? 0n
    const free = weightMilli === 0n ? seconds : min(seconds, pool / weightMilli)
    pool -= free * weightMilli
    used += seconds * weightMilli
    return lineOf(tariff, 'compute', { meter, quantity: seconds, included: free, weightMilli })
  })
  const others = storageAndEgressMeters.map((meter) => {
    const quantity = usage.get(meter) ?? 0n
    const free = min(quantity, includedOf(tariff, meter))
    return lineOf(tariff, priceItemOf(meter), { meter, quantity, included: free, weightMilli: 1n })
  })
  const lines = [...compute, ...others]
  return {
    lines,
    credits: { included, used, remaining: max(included - used, 0n) },
    totalCents: lines.reduce((sum, { amountCents }) => sum + amountCents, 0n),
  }
}

/** The compute that is included, in thousandths of a standard-second: the period's share of its month. */
export function includedCompute(allowance: ComputeAllowance): bigint {
  const { includedStandardHours, periodSeconds, allowanceSeconds } = allowance
  return (includedStandardHours * standardHour * periodSeconds) / allowanceSeconds
}

/** The cents of a number of units, rounded half up. */
export function amountOf(price: Price | undefined, units: bigint): bigint {
  if (!price) return 0n
  return (2n * units * price.cents + price.perUnits) / (2n * price.perUnits)
}

/** The item of the price of a meter. */
export function priceItemOf(meter: Meter): PriceItem {
  switch (meter) {
    case 'hot_storage_byte_seconds':
      return 'hot_storage'
    case 'cold_storage_byte_seconds':
      return 'cold_storage'
    case 'egress_bytes':
      return 'egress'
    default:
      return 'compute'
  }
}

/** The unit of a meter's quantities. */
export function unitOf(meter: Meter): MeterUnit {
  if (meter === 'egress_bytes') return 'bytes'
  return meter.endsWith('_byte_seconds') ? 'byte_seconds' : 'seconds'
}

function includedOf(tariff: Tariff, meter: Meter): bigint {
  if (meter !== 'hot_storage_byte_seconds') return 0n
  return tariff.includedHotStorageBytes * tariff.periodSeconds
}

function lineOf(
  { prices, overageAllowed }: Tariff,
  item: PriceItem,
  line: Pick<RatedLine, 'meter' | 'quantity' | 'included'> & { readonly weightMilli: bigint },
): RatedLine {
  const { meter, quantity, included, weightMilli } = line
  const billable = quantity - included
  // A plan without overage has the line, at no cost.
  const price = overageAllowed ? prices[item] : undefined
  return {
    meter,
    quantity,
    included,
    billable,
    amountCents: amountOf(price, billable * weightMilli),
  }
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
