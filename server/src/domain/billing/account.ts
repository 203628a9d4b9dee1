import { QuotaLimit } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { Database } from '../../db/database.ts'
import { countSeats } from '../accounts/invitation-creation.ts'
import { getPeriod } from '../accounts/periods.ts'
import { getEntitlements } from '../accounts/plans.ts'
import { countOpenSessions } from '../control/sessions.ts'
import { countMostSnapshots } from '../disks/snapshots.ts'
import { countTemplates } from '../disks/template-creation.ts'
import { readMachineCounts } from '../machines/quota.ts'
import { getPlan } from './catalog.ts'
import { isSubscribed } from './subscriptions.ts'

/** The billing account of an organization, with what it has of each limit. */
export async function getAccount(db: Database, actor: Pick<Actor, 'organizationId'>) {
  const { organizationId } = actor
  const period = await getPeriod(db, organizationId)
  const {
    state,
    next_plan_id: nextPlanId,
    ...subscription
  } = await db
    .selectFrom('billing_accounts')
    .select(['state', 'next_plan_id', 'subscription_id', 'subscription_ended_at'])
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow()
  const entitlements = await getEntitlements(db, organizationId)
  const current = await countAll(db, actor)
  return {
    organizationId,
    state,
    nextPlanId,
    hasSubscription: isSubscribed(subscription),
    period,
    plan: await getPlan(db, period.catalog_version, period.plan_id),
    largestSize: entitlements.largestSize,
    limits: QuotaLimit.options.map((key) => ({
      key,
      current: current[key],
      limit: entitlements.find(key),
    })),
  }
}

/** What the limits count, as the checks of the limits count it. */
async function countAll(
  db: Database,
  actor: Pick<Actor, 'organizationId'>,
): Promise<Record<QuotaLimit, number>> {
  const { machines, running } = await readMachineCounts(db, actor)
  return {
    running_machines: running,
    machines,
    templates: await countTemplates(db, actor),
    members: await countSeats(db, actor),
    concurrent_sessions: await countOpenSessions(db, actor),
    snapshots_per_machine: await countMostSnapshots(db, actor),
  }
}
