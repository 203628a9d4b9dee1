import type { BillingState, OrganizationId } from '@computer/contract'
import { sql, type Selectable } from 'kysely'
import { isDeepStrictEqual } from 'node:util'
import type { PeriodRow, Schema, Tx } from '../../db/database.ts'
import { ApiError } from '../../errors.ts'
import { noteAudit } from './audit-events.ts'
import { findOpenPeriod, lockAccount, rollPeriod, updateAccount } from './periods.ts'
import { dropWaitingChange } from './plan-changes.ts'
import type { Entitlements } from './plans.ts'

/*
 * The state of an account, and what it allows. A trial and an active account allow everything. If a payment
 * is due for longer than the grace, machines can be neither created, started nor forked. A canceled account
 * has its plan until `plan_ends_at`, and then the sign-up plan. No state stops a machine by itself, and none
 * deletes anything: what time does is in domain/billing/standings.ts.
 */

export type StandingChange = {
  readonly state: BillingState
  /** Of a trial; left out: as it is. Whoever collects payments ends it. */
  readonly trialEndsAt?: Date | null
  /** The sign-up plan follows when the trial ends. For a trial that nobody else ends. */
  readonly endsPlan?: boolean
  /** Until when a canceled plan is paid. Left out: until the end of the period. */
  readonly planEndsAt?: Date
  /** Who changes it; left out: a payment provider. */
  readonly by?: Parameters<typeof noteAudit>[1]['actor']
}

type Account = Selectable<Schema['billing_accounts']>
type Standing = Pick<
  Account,
  'state' | 'past_due_since' | 'trial_ends_at' | 'plan_ends_at' | 'machines_stop_at'
>

/** The owners are told a day before machines are stopped, and a worker may be late. */
const stopNoticeMs = 25 * 3_600_000

/**
 * Changes the state of an account. A repetition changes nothing: a payment stays due since the first time.
 * The worker tells the owners.
 */
export async function changeStanding(
  tx: Tx,
  organizationId: OrganizationId,
  change: StandingChange,
): Promise<void> {
  await rollPeriod(tx, organizationId)
  const account = await lockAccount(tx, organizationId)
  // A provider may still tell of it.
  if (account.is_deleted) return
  const period = await findOpenPeriod(tx, organizationId)
  const next = standingAfter(account, period, change)
  if (isSame(account, next)) return
  // The change to the sign-up plan was that of the canceled account.
  if (account.state === 'canceled' && next.state !== 'canceled') await dropWaitingChange(tx, period)
  await updateAccount(tx, organizationId, { ...next, standing_due_at: sql`clock_timestamp()` })
  await noteStanding(tx, organizationId, account.state, next, change.by)
}

/** Adds a change of the state to the audit log. */
export async function noteStanding(
  tx: Tx,
  organizationId: OrganizationId,
  from: BillingState,
  to: Pick<Standing, 'state' | 'trial_ends_at'>,
  by: StandingChange['by'] = null,
): Promise<void> {
  const until = to.trial_ends_at ? ` until ${to.trial_ends_at.toISOString()}` : ''
  await noteAudit(tx, {
    organizationId,
    type: 'organization.state_changed',
    actor: by,
    address: null,
    message: `from ${from} to ${to.state}${until}`,
  })
}

/** Refuses a caller whose organization can start no machine, because a payment is due. */
export function requirePaid(entitlements: Entitlements, running: number): void {
  const { startingRefusedSince: since, planId } = entitlements
  if (since === null) return
  throw new ApiError(
    'quota_exceeded',
    `a payment is due since ${describeTime(since)}, so machines can be neither created, started nor forked until it is paid`,
    { quota: { limit: 'running_machines', current: running, maximum: 0, plan_id: planId } },
  )
}

/** A time for people, such as `2030-01-31 12:00 UTC`. */
export function describeTime(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

function standingAfter(
  account: Account,
  period: Pick<PeriodRow, 'ends_at'> & { readonly now: Date },
  change: StandingChange,
): Standing {
  const { state } = change
  const nothing = { state, past_due_since: null, trial_ends_at: null, plan_ends_at: null }
  switch (state) {
    case 'active':
      return { ...nothing, machines_stop_at: stopOfEnded(account) }
    case 'past_due': {
      const since = account.past_due_since ?? period.now
      return { ...nothing, past_due_since: since, machines_stop_at: stopOfEnded(account) }
    }
    case 'trialing': {
      const ends = change.trialEndsAt === undefined ? account.trial_ends_at : change.trialEndsAt
      const planEnds = change.endsPlan ? ends : null
      const times = { trial_ends_at: ends, plan_ends_at: planEnds }
      return { ...nothing, ...times, machines_stop_at: stopAfter(account, planEnds, period.now) }
    }
    case 'canceled': {
      const known = account.state === 'canceled' ? account.plan_ends_at : null
      const planEnds = change.planEndsAt ?? known ?? period.ends_at
      return {
        ...nothing,
        // What is owed stays owed until the plan ends.
        past_due_since: account.past_due_since,
        plan_ends_at: planEnds,
        machines_stop_at: stopAfter(account, planEnds, period.now),
      }
    }
  }
}

/** A stop that was announced for a plan that has ended stays; one for a plan that now goes on does not. */
function stopOfEnded(account: Account): Date | null {
  return account.plan_ends_at === null ? account.machines_stop_at : null
}

/** Machines are stopped when the plan ends, and never with less than a day's notice. */
function stopAfter(account: Account, planEnds: Date | null, now: Date): Date | null {
  if (planEnds === null) return stopOfEnded(account)
  if (account.plan_ends_at?.getTime() === planEnds.getTime()) return account.machines_stop_at
  return new Date(Math.max(planEnds.getTime(), now.getTime() + stopNoticeMs))
}

function isSame(account: Account, next: Standing): boolean {
  return (Object.keys(next) as (keyof Standing)[]).every((key) => {
    return isDeepStrictEqual(account[key], next[key])
  })
}
