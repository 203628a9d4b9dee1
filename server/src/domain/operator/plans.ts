import { MachineSize, QuotaLimit, type OrganizationId } from '@computer/contract'
import type { App } from '../../app.ts'
import type { Database, OrganizationRow, Tx } from '../../db/database.ts'
import { conflict, invalid } from '../../errors.ts'
import type { Terms } from '../../db/tables/billing.ts'
import { noteAudit } from '../accounts/audit-events.ts'
import { changePlan } from '../accounts/plan-changes.ts'
import { currentVersion } from '../accounts/plans.ts'
import { findOpenPeriod, lockAccount } from '../accounts/periods.ts'
import { changeStanding } from '../accounts/standing.ts'
import { lockExisting } from './organizations.ts'
import type { Operator } from './users.ts'

const maxLimit = 1_000_000_000
/** Of the allowance of hot storage, in bytes. */
const maxBytes = Number.MAX_SAFE_INTEGER

const allowances = ['included_standard_hours', 'included_hot_storage_bytes'] as const
const requiredKeys = [...QuotaLimit.options, 'largest_size'] as const

type PlanChange = {
  readonly planId: string
  readonly limits: Readonly<Record<string, string>>
  /** A change to a lower plan need not wait for the end of the period. */
  readonly immediate: boolean
  /** The plan is for a trial until then. */
  readonly trialEndsAt?: Date
}
export type ChangedPlan = Pick<OrganizationRow, 'id' | 'name' | 'created_at'> & {
  readonly plan_id: string
  readonly terms: Terms
  /** When the plan takes effect; null if it has. */
  readonly effective_at: Date | null
}

/**
 * Changes the plan of an organization. The limits replace its earlier terms. They override the plan's own,
 * and must include every limit that the plan leaves to negotiation. It ends a trial; so does a trial begin
 * with it, of `trialEndsAt`.
 */
export async function setPlan(
  app: Pick<App, 'db'>,
  operator: Operator,
  organizationId: OrganizationId,
  change: PlanChange,
): Promise<ChangedPlan> {
  const { planId, immediate, trialEndsAt = null } = change
  const terms = readTerms(change.limits)
  return app.db.transaction().execute(async (tx) => {
    await requirePlan(tx, planId, terms)
    const organization = await lockExisting(tx, organizationId)
    await beginPlan(tx, operator, organizationId, trialEndsAt)
    const { from, effectiveAt } = await changePlan(tx, organizationId, { planId, terms, immediate })
    const limits = Object.entries(terms).map(([key, value]) => `${key} ${value}`)
    const time = effectiveAt === null ? [] : [`from ${effectiveAt.toISOString()} on`]
    await noteAudit(tx, {
      organizationId,
      type: 'organization.plan_changed',
      actor: operator,
      address: null,
      target: { type: 'organization', id: organizationId, name: organization.name },
      message: [`from ${from} to ${planId}`, ...limits, ...time].join(', '),
    })
    return { ...organization, plan_id: planId, terms, effective_at: effectiveAt }
  })
}

/** The plan that an operator gives is for good, or for a trial: what would have ended the one before is off. */
async function beginPlan(
  tx: Tx,
  operator: Operator,
  organizationId: OrganizationId,
  trialEndsAt: Date | null,
): Promise<void> {
  if (trialEndsAt) {
    const { now } = await findOpenPeriod(tx, organizationId)
    if (trialEndsAt <= now) {
      throw conflict(`${trialEndsAt.toISOString()} has passed; choose a later time`)
    }
    const trial = { state: 'trialing', trialEndsAt, endsPlan: true, by: operator } as const
    return changeStanding(tx, organizationId, trial)
  }
  const { state } = await lockAccount(tx, organizationId)
  if (state === 'past_due') return
  await changeStanding(tx, organizationId, { state: 'active', by: operator })
}

/** Every organization with its plan and its counts of members and machines, the oldest first. */
export async function listOrganizations(db: Database) {
  return db
    .selectFrom('organizations as o')
    .innerJoin('billing_periods as b', 'b.organization_id', 'o.id')
    .selectAll('o')
    .innerJoin('billing_accounts as a', 'a.organization_id', 'o.id')
    .select(['b.plan_id', 'b.terms', 'a.state'])
    .select((eb) => [
      eb
        .selectFrom('memberships as m')
        .whereRef('m.organization_id', '=', 'o.id')
        .select(eb.fn.countAll<number>().as('count'))
        .as('members'),
      eb
        .selectFrom('machines as c')
        .whereRef('c.organization_id', '=', 'o.id')
        .where('c.deleted_at', 'is', null)
        .select(eb.fn.countAll<number>().as('count'))
        .as('machines'),
    ])
    .where('b.status', '=', 'open')
    .where('o.deleted_at', 'is', null)
    .orderBy('o.id')
    .execute()
}

function readTerms(limits: Readonly<Record<string, string>>): Terms {
  const keys: readonly string[] = [...QuotaLimit.options, ...allowances, 'largest_size']
  const sizes: readonly string[] = MachineSize.options
  const terms: Terms = {}
  for (const [key, text] of Object.entries(limits)) {
    if (!keys.includes(key)) throw invalid(`unknown limit ${key}; use one of ${join(keys)}`)
    if (key === 'largest_size') {
      if (!sizes.includes(text))
        throw invalid(`largest_size must be one of ${join(sizes)}, not ${text}`)
      terms[key] = text
    } else {
      const value = /^\d+$/.test(text) ? Number(text) : NaN
      const max = key === 'included_hot_storage_bytes' ? maxBytes : maxLimit
      if (!(value <= max)) {
        throw invalid(`${key} must be a whole number up to ${max}, not ${text}`)
      }
      terms[key] = value
    }
  }
  return terms
}

/** Refuses an unknown plan, and one whose missing limits the terms do not set. */
async function requirePlan(tx: Tx, planId: string, terms: Terms): Promise<void> {
  const plans = await tx
    .selectFrom('catalog_plans')
    .selectAll()
    .where('catalog_version', '=', currentVersion())
    .orderBy('position')
    .execute()
  const plan = plans.find(({ id }) => id === planId)
  if (!plan) {
    throw invalid(`unknown plan ${planId}; use one of ${join(plans.map(({ id }) => id))}`)
  }
  const missing = requiredKeys.filter((key) => plan[key] === null && terms[key] === undefined)
  if (missing.length > 0) {
    throw invalid(`plan ${planId} has no limits of its own; also set ${join(missing)}`)
  }
}

function join(words: readonly string[]): string {
  return words.join(', ')
}
