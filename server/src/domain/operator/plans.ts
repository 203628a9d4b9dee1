import { MachineSize, QuotaLimit, type OrganizationId } from '@computer/contract'
import type { App } from '../../app.ts'
import type { Database, OrganizationRow, Tx } from '../../db/database.ts'
import { invalid, notFound } from '../../errors.ts'
import { noteAudit } from '../accounts/audit-events.ts'
import { currentVersion } from '../accounts/plans.ts'
import { lockOrganization } from '../accounts/organizations.ts'
import type { Operator } from './users.ts'

type Overrides = OrganizationRow['limit_overrides']

const maxLimit = 1_000_000_000

/**
 * Changes the plan of an organization. The limits replace its earlier overrides. They override the
 * plan's own, and must include every limit that the plan leaves to negotiation.
 */
export async function setPlan(
  app: Pick<App, 'db'>,
  operator: Operator,
  organizationId: OrganizationId,
  change: { readonly planId: string; readonly limits: Readonly<Record<string, string>> },
): Promise<OrganizationRow> {
  const overrides = readLimits(change.limits)
  return app.db.transaction().execute(async (tx) => {
    await requirePlan(tx, change.planId, overrides)
    await lockOrganization(tx, { organizationId })
    const before = await tx
      .selectFrom('organizations')
      .select('plan_id')
      .where('id', '=', organizationId)
      .executeTakeFirst()
    if (!before) throw notFound(`organization ${organizationId}`)
    const after = await tx
      .updateTable('organizations')
      .set({ plan_id: change.planId, limit_overrides: overrides })
      .where('id', '=', organizationId)
      .returningAll()
      .executeTakeFirstOrThrow()
    const limits = Object.entries(overrides).map(([key, value]) => `${key} ${value}`)
    await noteAudit(tx, {
      organizationId,
      type: 'organization.plan_changed',
      actor: operator,
      address: null,
      target: { type: 'organization', id: organizationId, name: after.name },
      message: [`from ${before.plan_id} to ${change.planId}`, ...limits].join(', '),
    })
    return after
  })
}

/** Every organization with its counts of members and machines, the oldest first. */
export async function listOrganizations(db: Database) {
  return db
    .selectFrom('organizations as o')
    .selectAll('o')
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
    .where('o.deleted_at', 'is', null)
    .orderBy('o.id')
    .execute()
}

function readLimits(limits: Readonly<Record<string, string>>): Overrides {
  const keys: readonly string[] = [...QuotaLimit.options, 'largest_size']
  const sizes: readonly string[] = MachineSize.options
  const overrides: Overrides = {}
  for (const [key, text] of Object.entries(limits)) {
    if (!keys.includes(key)) throw invalid(`unknown limit ${key}; use one of ${join(keys)}`)
    if (key === 'largest_size') {
      if (!sizes.includes(text))
        throw invalid(`largest_size must be one of ${join(sizes)}, not ${text}`)
      overrides[key] = text
    } else {
      const value = /^\d+$/.test(text) ? Number(text) : NaN
      if (!(value <= maxLimit)) {
        throw invalid(`${key} must be a whole number up to ${maxLimit}, not ${text}`)
      }
      overrides[key] = value
    }
  }
  return overrides
}

/** Refuses an unknown plan, and one whose missing limits the overrides do not set. */
async function requirePlan(tx: Tx, planId: string, overrides: Overrides): Promise<void> {
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
  const keys = [...QuotaLimit.options, 'largest_size'] as const
  const missing = keys.filter((key) => plan[key] === null && overrides[key] === undefined)
  if (missing.length > 0) {
    throw invalid(`plan ${planId} has no limits of its own; also set ${join(missing)}`)
  }
}

function join(words: readonly string[]): string {
  return words.join(', ')
}
