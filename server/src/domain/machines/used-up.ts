import type { MachineId, OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Tx } from '../../db/database.ts'
import { lockAnyOrganization } from '../accounts/organizations.ts'
import { forEachOf } from '../accounts/periods.ts'
import { getEntitlements, type Entitlements } from '../accounts/plans.ts'
import { nextSettling } from '../events/settling.ts'
import { countsAsRunning } from '../running.ts'
import { stopRunning } from './beyond-limit.ts'
import { checkComputeAt, readCompute, settleCompute, type Compute } from './compute.ts'

/*
 * Plans that refuse to start machines once the included compute is used up, or also stop those that run.
 * Machines use it at a known rate, so the time at which it is used up can be computed. The worker looks at a
 * period then, and every hour in which compute was used, to settle it: `compute_check_at` of the open period,
 * which a start sets.
 */

/** Machines on their way to running are stopped once they run. */
const lookAgainMs = 1_000

/** Stops the machines of up to a hundred organizations whose included compute is used up. */
export async function stopUsedUp(app: Pick<App, 'db' | 'changes'>): Promise<void> {
  const due = await app.db
    .selectFrom('billing_periods')
    .select('organization_id')
    .where('status', '=', 'open')
    .where('compute_check_at', '<=', sql<Date>`clock_timestamp()`)
    .orderBy('compute_check_at')
    .limit(100)
    .execute()
  await forEachOf(due, async ({ organization_id: organizationId }) => {
    await settleCompute(app.db, organizationId)
    const stopped = await app.db.transaction().execute((tx) => checkCompute(tx, organizationId))
    for (const id of stopped) app.changes.publish(id)
  })
}

async function checkCompute(tx: Tx, organizationId: OrganizationId): Promise<MachineId[]> {
  await lockAnyOrganization(tx, organizationId)
  const entitlements = await getEntitlements(tx, organizationId)
  const { planId, whenUsedUp, period } = entitlements
  if (whenUsedUp === 'allow') {
    await checkComputeAt(tx, period, null)
    return []
  }
  const compute = await readCompute(tx, entitlements)
  const machines = await listBurning(tx, organizationId)
  const perSecond = machines.reduce((sum, { size }) => sum + compute.weights.get(size)!, 0n)
  const stopsAt = whenUsedUp === 'stop' ? usedUpAt(compute, period, perSecond) : null
  const isToSettle = perSecond > 0n || compute.isUnsettled
  const settlesAt = isToSettle ? nextSettling(period.now) : null
  const isStoppedFirst = stopsAt !== null && settlesAt !== null && stopsAt < settlesAt
  await checkComputeAt(tx, period, isStoppedFirst ? stopsAt : settlesAt)
  if (stopsAt === null || compute.used < compute.included) return []
  return stopRunning(
    tx,
    machines,
    `stopped because the compute that plan ${planId} includes is used up`,
  )
}

/** Null: machines do not use any. */
function usedUpAt(
  { included, used }: Compute,
  { now }: Entitlements['period'],
  perSecond: bigint,
): Date | null {
  if (perSecond === 0n) return null
  const ms = Number(((included - used) * 1_000n) / perSecond)
  return new Date(now.getTime() + Math.max(ms, lookAgainMs))
}

/** The machines that use compute, or are about to. */
async function listBurning(tx: Tx, organizationId: OrganizationId) {
  return tx
    .selectFrom('machines')
    .select(['id', 'name', 'state', 'size'])
    .where('organization_id', '=', organizationId)
    .where('deleted_at', 'is', null)
    .where((eb) => eb.or([eb('state', '=', 'stopping'), countsAsRunning]))
    .orderBy('id')
    .execute()
}
