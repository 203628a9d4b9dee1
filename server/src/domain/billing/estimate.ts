import type { MachineId, MachineSize } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { Database } from '../../db/database.ts'
import { invalid } from '../../errors.ts'
import { getPeriod } from '../accounts/periods.ts'
import { getSize } from '../accounts/plans.ts'
import { getMachine } from '../find-machine.ts'
import { rate, type Price, type Tariff } from '../rating.ts'
import { readUsage } from './summary.ts'
import { readTariff } from './tariff.ts'

const gibibyte = 2n ** 30n

type Question = {
  readonly size?: MachineSize | undefined
  readonly machine_id?: MachineId | undefined
  readonly count: number
}

/** A fraction of a cent. */
type Cents = { readonly numerator: bigint; readonly denominator: bigint }

/** What machines would cost each hour, and how long the included compute would last with them. */
export async function estimateCost(db: Database, actor: Actor, question: Question) {
  const { size, count, newDisks } = await readQuestion(db, actor, question)
  const { organizationId } = actor
  const period = await getPeriod(db, organizationId)
  const tariff = await readTariff(db, period)
  const { credits } = rate(tariff, await readUsage(db, organizationId, period))
  const running = await readRunning(db, actor, tariff)

  const weight = BigInt(size.weight_milli) * BigInt(count)
  const newBytes = BigInt(size.disk_gb) * gibibyte * BigInt(newDisks)
  const beyond = (bytes: bigint) =>
    bytes > tariff.includedHotStorageBytes ? bytes - tariff.includedHotStorageBytes : 0n
  const billedBytes = beyond(running.diskBytes + newBytes) - beyond(running.diskBytes)
  const burn = running.weight + weight
  const ends =
    burn > 0n
      ? new Date(period.now.getTime() + Number((credits.remaining * 1_000n) / burn))
      : period.ends_at
  return {
    size: size.id,
    count,
    currency: tariff.currency,
    compute: hourly(tariff, tariff.prices.compute, weight),
    hotStorage: hourly(tariff, tariff.prices.hot_storage, billedBytes),
    remaining: credits.remaining,
    includedUntil: ends < period.ends_at ? ends : null,
    period,
  }
}

/** The cents of an hour of so many units a second. */
function hourly({ overageAllowed }: Tariff, price: Price | undefined, perSecond: bigint): Cents {
  if (!overageAllowed || !price) return { numerator: 0n, denominator: 1n }
  return { numerator: perSecond * 3_600n * price.cents, denominator: price.perUnits }
}

async function readQuestion(db: Database, actor: Actor, question: Question) {
  const { size, machine_id: machineId, count } = question
  if (machineId === undefined) {
    if (size === undefined) throw eitherOne('size', 'is required unless machine_id is given')
    return { size: await getSize(db, size), count, newDisks: count }
  }
  if (size !== undefined) throw eitherOne('size', 'must not be given with machine_id')
  if (count !== 1) throw eitherOne('count', 'must be 1 for a machine that exists')
  const machine = await getMachine(db, actor, machineId)
  return { size: await getSize(db, machine.size), count, newDisks: 0 }
}

function eitherOne(field: string, message: string) {
  return invalid(`body: ${field}: ${message}`, [{ field, message }])
}

/** The weights of the machines that run now, and the bytes of all disks. */
async function readRunning(db: Database, { organizationId }: Actor, { sizes }: Tariff) {
  const open = await db
    .selectFrom('meter_intervals')
    .select(['meter', 'size', 'bytes'])
    .where('organization_id', '=', organizationId)
    .where('meter', 'in', ['compute', 'hot_storage'])
    .where('ended_at', 'is', null)
    .execute()
  const weights = new Map<string | null, bigint>(
    sizes.map(({ id, weightMilli }) => [id, weightMilli]),
  )
  let [weight, diskBytes] = [0n, 0n]
  for (const { meter, size, bytes } of open) {
    if (meter === 'compute') weight += weights.get(size) ?? 0n
    else diskBytes += BigInt(bytes ?? 0)
  }
  return { weight, diskBytes }
}
