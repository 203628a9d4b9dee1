import type { MachineId, OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Tx } from '../../db/database.ts'
import { lockAnyOrganization } from '../accounts/organizations.ts'
import { findOpenPeriod, forEachOf } from '../accounts/periods.ts'
import { getEntitlements } from '../accounts/plans.ts'
import { countsAsRunning } from '../running.ts'
import { stopRunning } from './beyond-limit.ts'
import { checkComputeAt, readCompute } from './compute.ts'

/*
 * Plans that stop machines once the included compute is used up. Machines use it at a known rate, so the time
 * at which that is can be computed: `compute_check_at` of the open period, which every start sets anew. The
 * worker looks at a period only then.
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
    const stopped = await app.db.transaction().execute((tx) => checkCompute(tx, organizationId))
    for (const id of stopped) app.changes.publish(id)
  })
}

async function checkCompute(tx: Tx, organizationId: OrganizationId): Promise<MachineId[]> {
  await lockAnyOrganization(tx, organizationId)
  const entitlements = await getEntitlements(tx, organizationId)
  if (entitlements.whenUsedUp !== 'stop') {
    await checkComputeAt(tx, await findOpenPeriod(tx, organizationId), null)
    return []
  }
  const compute = await readCompute(tx, organizationId)
  const { period, included, used } = compute
  const machines = await listBurning(tx, organizationId)
  const perSecond = machines.reduce((sum, { size }) => sum + compute.weights.get(size)!, 0n)
  if (perSecond === 0n) {
    await checkComputeAt(tx, period, null)
    return []
  }
  const remaining = included - used
  const ms = remaining > 0n ? Number((remaining * 1_000n) / perSecond) : 0
  await checkComputeAt(tx, period, new Date(period.now.getTime() + Math.max(ms, lookAgainMs)))
  if (remaining > 0n) return []
  const message = `stopped because the compute that plan ${entitlements.planId} includes is used up`
  return stopRunning(tx, machines, message)
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
