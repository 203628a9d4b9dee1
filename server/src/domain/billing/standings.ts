import type { MachineId, OrganizationId } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Tx } from '../../db/database.ts'
import { lockAnyOrganization } from '../accounts/organizations.ts'
import {
  findOpenPeriod,
  forEachOf,
  lockAccount,
  rollPeriod,
  updateAccount,
} from '../accounts/periods.ts'
import { changePlan, isLower } from '../accounts/plan-changes.ts'
import { currentVersion, getEntitlements, graceDays } from '../accounts/plans.ts'
import { giveNotice, isGiven, type Notice } from '../accounts/standing-notices.ts'
import { noteStanding } from '../accounts/standing.ts'
import { isAnyStopping, listRunning, stopRunning } from '../machines/beyond-limit.ts'
import {
  describeMaximum,
  machinesStopped,
  machinesWillStop,
  paymentIsDue,
  startingIsRefused,
  trialEnds,
  type Excess,
} from './standing-texts.ts'

/*
 * What time does to accounts that are due, on trial or canceled: notices to the owners, the fall to the
 * sign-up plan, and the stop of machines beyond it. All that is due for an account happens in one
 * transaction under its locks, so several workers, or one that dies, do nothing twice and leave nothing
 * out. The database's clock decides.
 */

type StandingApp = Pick<App, 'db' | 'changes' | 'config'>
type Account = Awaited<ReturnType<typeof lockAccount>>

/** An account and its organization are locked. */
type Step = Pick<App, 'config'> & {
  readonly tx: Tx
  readonly organizationId: OrganizationId
  readonly now: Date
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const refusalNoticeMs = dayMs
const trialNoticeMs = 3 * dayMs
const stopNoticeMs = dayMs
/** Machines on their way to running are stopped once they run. */
const lookAgainMs = 2_000

/** Does what is due for up to a hundred accounts, those that have waited longest first. */
export async function advanceStandings(app: StandingApp): Promise<void> {
  const due = await app.db
    .selectFrom('billing_accounts')
    .select('organization_id')
    .where('standing_due_at', '<=', sql<Date>`clock_timestamp()`)
    .orderBy('standing_due_at')
    .limit(100)
    .execute()
  await forEachOf(due, async ({ organization_id: organizationId }) => {
    const stopped = await app.db
      .transaction()
      .execute((tx) => advanceStanding(app, tx, organizationId))
    for (const id of stopped) app.changes.publish(id)
  })
}

async function advanceStanding(
  { config }: StandingApp,
  tx: Tx,
  organizationId: OrganizationId,
): Promise<MachineId[]> {
  if (!(await lockDue(tx, organizationId))) return []
  await rollPeriod(tx, organizationId)
  const { now } = await findOpenPeriod(tx, organizationId)
  const step = { config, tx, organizationId, now }
  const lock = () => lockAccount(tx, organizationId)
  await tellOwners(step, await lock())
  await followPlan(step, await lock())
  const stopped = await stopBeyond(step, await lock())
  await schedule(step, await lock())
  return stopped
}

/** Locks the organization and its account. False if another worker was faster. */
async function lockDue(tx: Tx, organizationId: OrganizationId): Promise<boolean> {
  await lockAnyOrganization(tx, organizationId)
  const { is_deleted: isDeleted } = await lockAccount(tx, organizationId)
  if (isDeleted) {
    await updateAccount(tx, organizationId, { standing_due_at: null })
    return false
  }
  const due = await tx
    .selectFrom('billing_accounts')
    .select('organization_id')
    .where('organization_id', '=', organizationId)
    .where('standing_due_at', '<=', sql<Date>`clock_timestamp()`)
    .executeTakeFirst()
  return due !== undefined
}

async function tellOwners(step: Step, account: Account): Promise<void> {
  const { config, tx, organizationId, now } = step
  const give = (kind: Notice['kind'], occasion: Date, text: Pick<Notice, 'subject' | 'body'>) =>
    giveNotice(tx, config, { organizationId, kind, occasion, ...text })
  const { state, past_due_since: since, trial_ends_at: trialEndsAt } = account
  if (state === 'past_due' && since) {
    const refusedAt = after(since, graceDays * dayMs)
    // A server that was off for long gives the second notice alone.
    if (now < after(refusedAt, -refusalNoticeMs)) {
      await give('past_due', since, paymentIsDue(refusedAt))
    } else await give('starting_refused', since, startingIsRefused(refusedAt))
  }
  if (trialEndsAt && now < trialEndsAt && now >= after(trialEndsAt, -trialNoticeMs)) {
    const followedBy = account.plan_ends_at ? config.signupPlan : null
    await give('trial_ending', trialEndsAt, trialEnds(trialEndsAt, followedBy))
  }
}

/** Lets the sign-up plan follow the one that ends. The account is active again then, and owes nothing. */
async function followPlan(step: Step, account: Account): Promise<void> {
  const { config, tx, organizationId, now } = step
  const { state, plan_ends_at: planEndsAt } = account
  if (!planEndsAt) return
  const toSignupPlan = { planId: config.signupPlan, terms: {} }
  if (now < planEndsAt) {
    const period = await findOpenPeriod(tx, organizationId)
    const isWaiting = account.next_plan_id === config.signupPlan
    if (isWaiting || planEndsAt.getTime() !== period.ends_at.getTime()) return
    // The next period then begins with it, even if no worker runs.
    if (await isLower(tx, config.signupPlan, period.plan_id))
      await changePlan(tx, organizationId, { ...toSignupPlan, immediate: false })
    return
  }
  await changePlan(tx, organizationId, { ...toSignupPlan, immediate: true })
  const active = {
    state: 'active',
    past_due_since: null,
    trial_ends_at: null,
    plan_ends_at: null,
  } as const
  await updateAccount(tx, organizationId, active)
  await noteStanding(tx, organizationId, state, active)
}

/** Announces the stop of machines beyond the plan that follows, and stops them a day later. */
async function stopBeyond(step: Step, account: Account): Promise<MachineId[]> {
  const { config, tx, organizationId, now } = step
  const { machines_stop_at: stopAt } = account
  if (!stopAt || now < announcedAt(stopAt)) return []
  const excess = await findExcess(step, account)
  if (excess.machines.length === 0) {
    const isOver = account.plan_ends_at === null && !(await isAnyStopping(tx, organizationId))
    if (isOver) await updateAccount(tx, organizationId, { machines_stop_at: null })
    return []
  }
  const notice = { organizationId, kind: 'machines_stop', occasion: stopAt } as const
  if (!(await isGiven(tx, notice))) {
    const occasion = now < after(stopAt, -stopNoticeMs) ? stopAt : after(now, stopNoticeMs)
    await updateAccount(tx, organizationId, { machines_stop_at: occasion })
    const text = machinesWillStop(occasion, excess)
    await giveNotice(tx, config, { ...notice, occasion, ...text })
    return []
  }
  if (now < stopAt) return []
  const message = `stopped because with the plan ${excess.planId}, ${describeMaximum(excess)}`
  const stopped = await stopRunning(tx, excess.machines, message)
  const text = machinesStopped(excess)
  await giveNotice(tx, config, { ...notice, kind: 'machines_stopped', ...text })
  return stopped
}

/** The machines that run beyond the plan that has followed, or will. */
async function findExcess(step: Step, account: Account) {
  const { config, tx, organizationId } = step
  const { planId, maximum } =
    account.plan_ends_at === null
      ? await readCurrentLimit(tx, organizationId)
      : await readLimitOf(tx, config.signupPlan)
  const running = await listRunning(tx, organizationId)
  // A limit that is still to be agreed stops nothing.
  const machines = maximum === null ? [] : running.slice(maximum)
  return { planId, maximum: maximum ?? 0, machines } satisfies Excess
}

async function readCurrentLimit(tx: Tx, organizationId: OrganizationId) {
  const entitlements = await getEntitlements(tx, organizationId)
  return { planId: entitlements.planId, maximum: entitlements.find('running_machines') }
}

async function readLimitOf(tx: Tx, planId: string) {
  const plan = await tx
    .selectFrom('catalog_plans')
    .select('running_machines')
    .where('catalog_version', '=', currentVersion())
    .where('id', '=', planId)
    .executeTakeFirstOrThrow()
  return { planId, maximum: plan.running_machines }
}

/** When there is something to do next. */
async function schedule(step: Step, account: Account): Promise<void> {
  const { tx, organizationId, now } = step
  const { past_due_since: since, trial_ends_at: trialEndsAt, machines_stop_at: stopAt } = account
  const isOverdue = stopAt !== null && stopAt <= now
  const times = [
    since && after(since, graceDays * dayMs - refusalNoticeMs),
    trialEndsAt && after(trialEndsAt, -trialNoticeMs),
    account.plan_ends_at,
    stopAt && announcedAt(stopAt),
    isOverdue ? after(now, lookAgainMs) : stopAt,
  ]
  const [next = null] = times
    .filter((time) => time !== null && time > now)
    .toSorted((a, b) => a!.getTime() - b!.getTime())
  await updateAccount(tx, organizationId, { standing_due_at: next })
}

/** An hour early, so that a busy worker is not late. */
function announcedAt(stopAt: Date): Date {
  return after(stopAt, -stopNoticeMs - hourMs)
}

function after(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms)
}
