import type { BudgetLimitType } from '@computer/contract'
import { standardHour } from '../rating.ts'

/*
 * How much of a budget is used, and when it will be used up. Pure, and exact: everything is counted in the
 * unit in which it is a whole number.
 */

/** A quantity with the price that it has: seconds, byte-seconds or bytes of one item and size. */
export type PricedQuantity = {
  readonly item: 'compute' | 'hot_storage' | 'cold_storage' | 'egress'
  readonly quantity: bigint
  /** Of the size, for compute. */
  readonly weightMilli: bigint
  /** Null: not priced. */
  readonly price: { readonly cents: bigint; readonly perUnits: bigint } | null
}

/** A machine that is wanted running. */
export type WaitingRun = PricedQuantity & {
  /** The seconds of its run that the window has counted. */
  readonly ranSeconds: bigint
}

export type BudgetLimit = { readonly type: BudgetLimitType; readonly micros: bigint }

/** All in the same unit, of which a cent or a standard-hour has `scale`. */
export type Measure = {
  readonly scale: bigint
  readonly limit: bigint
  readonly used: bigint
  /** Added at the beginning of every second while nothing changes. */
  readonly perSecond: bigint
}

const micros = 1_000_000n
/** A start keeps at most this long of compute for itself to have a cent. */
const longestForCent = 3_600n

export function measure(
  limit: BudgetLimit,
  used: readonly PricedQuantity[],
  burning: readonly PricedQuantity[],
): Measure {
  const scale = scaleOf(limit.type, [...used, ...burning])
  return {
    scale,
    limit: (limit.micros * scale) / micros,
    used: sum(used.map((one) => unitsOf(limit.type, scale, one))),
    perSecond: sum(burning.map((one) => unitsOf(limit.type, scale, one))),
  }
}

export function isExhausted({ used, limit }: Pick<Measure, 'used' | 'limit'>): boolean {
  return used >= limit
}

export function hasReached({ used, limit }: Measure, percent: number): boolean {
  return used * 100n >= limit * BigInt(percent)
}

/**
 * When the share of the limit will be reached if nothing changes: the beginning of the second that does.
 * Every second counts as soon as it begins, as in all sums of usage. Null: never, or it is reached already.
 */
export function reachesAt(
  { limit, used, perSecond }: Measure,
  now: Date,
  percent = 100,
): Date | null {
  const missing = ceilDivide(limit * BigInt(percent), 100n) - used
  if (missing <= 0n || perSecond <= 0n) return null
  const seconds = ceilDivide(missing, perSecond)
  const next = BigInt(Math.ceil(now.getTime() / 1_000))
  const at = (next + seconds - 1n) * 1_000n
  return at <= latest ? new Date(Number(at)) : null
}

/** Farther ahead than anything that matters, and a time that every reader can parse. */
const latest = BigInt(Date.UTC(9999, 0))

/**
 * What machines that are wanted running have not used yet of what each start keeps for itself: the minimum
 * run and, of an amount, at least a cent. So of starts at once only those fit that the budget has room for.
 */
export function reserved(
  limit: BudgetLimit,
  runs: readonly WaitingRun[],
  minimumRunSeconds: number,
): { readonly scale: bigint; readonly units: bigint } {
  const scale = scaleOf(limit.type, runs)
  const units = runs.map((run) => {
    const perSecond = unitsOf(limit.type, scale, { ...run, quantity: 1n })
    const forCent = perSecond > 0n ? min(ceilDivide(scale, perSecond), longestForCent) : 0n
    const seconds =
      limit.type === 'list_price_cents'
        ? max(BigInt(minimumRunSeconds), forCent)
        : BigInt(minimumRunSeconds)
    return max(seconds - run.ranSeconds, 0n) * perSecond * run.quantity
  })
  return { scale, units: sum(units) }
}

/** Whether what is used and what is reserved are within the limit. */
export function hasRoom(
  { scale, used, limit }: Measure,
  kept: ReturnType<typeof reserved>,
): boolean {
  return used * kept.scale + kept.units * scale <= limit * kept.scale
}

function scaleOf(type: BudgetLimitType, quantities: readonly PricedQuantity[]): bigint {
  if (type === 'standard_hours') return standardHour * micros
  const units = quantities.map(({ price }) => price?.perUnits ?? 1n)
  return units.reduce(leastCommonMultiple, 1n) * micros
}

function unitsOf(type: BudgetLimitType, scale: bigint, one: PricedQuantity): bigint {
  const { item, quantity, weightMilli, price } = one
  const weighted = item === 'compute' ? quantity * weightMilli : quantity
  if (type === 'standard_hours') {
    return item === 'compute' ? weighted * (scale / standardHour) : 0n
  }
  return price ? weighted * price.cents * (scale / price.perUnits) : 0n
}

function leastCommonMultiple(a: bigint, b: bigint): bigint {
  let [x, y] = [a, b]
  while (y > 0n) [x, y] = [y, x % y]
  return (a / x) * b
}

function ceilDivide(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n)
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
