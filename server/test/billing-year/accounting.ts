import { QuotaLimit, type OrganizationId } from '@computer/contract'
import type { Database } from '../../src/db/database.ts'
import { openAccount, rollPeriods } from '../../src/domain/accounts/periods.ts'
import { changeStanding } from '../../src/domain/accounts/standing.ts'
import { adjustBill } from '../../src/domain/billing/adjustments.ts'
import { CatalogFile } from '../../src/domain/billing/catalog-file.ts'
import { addCatalogVersion } from '../../src/domain/billing/catalog-versions.ts'
import { closePeriods } from '../../src/domain/billing/closing.ts'
import { setPlan } from '../../src/domain/operator/plans.ts'
import { compactEgress } from '../../src/domain/previews/egress.ts'
import type { AccountHappening } from './account-story.ts'
import { catalogs, type YearCatalog } from './catalogs.ts'

const operator = { type: 'operator', id: 'operator', name: 'root' } as const

/** Room for all machines on every plan: the story is of amounts. */
const room = {
  ...Object.fromEntries(QuotaLimit.options.map((limit) => [limit, '1000'])),
  largest_size: 'large',
}

/** Does what happens to the account of an organization, as its operator does it, now. */
export function livingAccount(
  db: Database,
  organizationId: OrganizationId,
): (happening: AccountHappening) => Promise<unknown> {
  return async (happening) => {
    switch (happening.what) {
      case 'founded':
        return found(db, organizationId, happening.plan)
      case 'plan chosen': {
        const { plan: planId, at_once: immediate } = happening
        const terms = Object.entries(happening.terms).map(([key, value]) => [key, String(value)])
        const limits = { ...room, ...Object.fromEntries(terms) }
        return setPlan({ db }, operator, organizationId, { planId, limits, immediate })
      }
      case 'payment missed':
      case 'payment arrived': {
        const state = happening.what === 'payment missed' ? 'past_due' : 'active'
        return db.transaction().execute((tx) => changeStanding(tx, organizationId, { state }))
      }
      case 'corrected':
        return adjustBill({ db }, operator, organizationId, happening)
      case 'catalog published':
        return publish(
          db,
          catalogs.find(({ version }) => version === happening.version)!,
        )
    }
  }
}

/** What the worker does from time to time. */
export async function doRounds(db: Database): Promise<void> {
  await rollPeriods(db)
  await compactEgress(db)
  await closePeriods(db)
}

/** The organization has an account since the server was started; it gets the one that begins now. */
async function found(db: Database, organizationId: OrganizationId, plan: string): Promise<void> {
  await db.deleteFrom('billing_periods').where('organization_id', '=', organizationId).execute()
  await db.deleteFrom('billing_accounts').where('organization_id', '=', organizationId).execute()
  await db.transaction().execute((tx) => openAccount(tx, organizationId, plan))
}

async function publish(db: Database, catalog: YearCatalog): Promise<void> {
  const limits = Object.fromEntries(QuotaLimit.options.map((limit) => [limit, null]))
  const file = CatalogFile.parse({
    plans: catalog.plans.map(({ id, hours, disk_bytes, overage }) => ({
      id,
      name: id,
      limits,
      largest_size: null,
      included_standard_hours: hours,
      included_hot_storage_bytes: disk_bytes,
      overage_allowed: overage,
      price_cents: null,
      currency: 'usd',
    })),
    sizes: catalog.sizes.map(({ id, weight, disk_gb }) => ({
      id,
      cpu: 2,
      memory_mb: 4096,
      disk_gb,
      weight_milli: weight,
    })),
    prices: catalog.prices.map(({ item, cents, per }) => {
      return { item, currency: 'usd', cents, per_units: per }
    }),
  })
  await addCatalogVersion({ db }, file, new Date(catalog.effective_at))
}
