import { Meter, type OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { Database, Tx } from '../../db/database.ts'
import { getPeriod } from '../accounts/periods.ts'
import { unitOf } from '../rating.ts'
import { readUsage } from './summary.ts'

/**
 * The usage of an organization since it was created, as OpenMetrics text: a counter for each meter. The sums of
 * final periods are stored, so a scrape costs as much as a summary.
 */
export async function readUsageMetrics(
  db: Database,
  { organizationId }: Pick<Actor, 'organizationId'>,
): Promise<string> {
  await getPeriod(db, organizationId)
  const totals = await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute((tx) => readTotals(tx, organizationId))
  const lines = Meter.options.flatMap((meter) => {
    const name = `computer_usage_${meter}`
    return [
      `# TYPE ${name} counter`,
      `# UNIT ${name} ${unitOf(meter)}`,
      `# HELP ${name} ${meter.replaceAll('_', ' ')} since the organization was created.`,
      `${name}_total{organization_id="${organizationId}"} ${totals.get(meter) ?? 0n}`,
    ]
  })
  return [...lines, '# EOF', ''].join('\n')
}

/** Every use is in one period, and nothing is used before the first. */
async function readTotals(tx: Tx, organizationId: OrganizationId): Promise<Map<Meter, bigint>> {
  const totals = new Map<Meter, bigint>()
  const add = (meter: Meter, quantity: bigint) =>
    totals.set(meter, (totals.get(meter) ?? 0n) + quantity)
  const final = await tx
    .selectFrom('billing_lines as l')
    .innerJoin('billing_periods as p', 'p.id', 'l.period_id')
    .select(['l.meter', sql<string>`sum(l.quantity)::text`.as('quantity')])
    .where('p.organization_id', '=', organizationId)
    .groupBy('l.meter')
    .execute()
  for (const { meter, quantity } of final) add(meter as Meter, BigInt(quantity))
  const others = await tx
    .selectFrom('billing_periods')
    .select(['starts_at', 'ends_at'])
    .where('organization_id', '=', organizationId)
    .where('status', '!=', 'final')
    .execute()
  for (const period of others) {
    const usage = await readUsage(tx, organizationId, period)
    for (const [meter, quantity] of usage) add(meter, quantity)
  }
  return totals
}
