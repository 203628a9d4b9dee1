import { QuotaLimit } from '@computer/contract'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import type { Database, Tx } from '../../db/database.ts'
import { conflict } from '../../errors.ts'
import { listPlans, listPrices, listSizes } from './catalog.ts'
import type { CatalogFile } from './catalog-file.ts'

type VersionedFile = CatalogFile & {
  readonly catalog_version: number
  readonly effective_at: string
}

/** The newest version of the catalog, which may take effect later, as a file. */
export async function readNewestCatalog(db: Database): Promise<VersionedFile> {
  const newest = await findNewest(db)
  const { version } = newest
  const plans = await listPlans(db, version)
  const sizes = await listSizes(db, version)
  const prices = await listPrices(db, version)
  return {
    catalog_version: version,
    effective_at: newest.effective_at.toISOString(),
    plans: plans.map((plan) => ({
      id: plan.id,
      name: plan.name,
      limits: Object.fromEntries(
        QuotaLimit.options.map((limit) => [limit, plan[limit]]),
      ) as CatalogFile['plans'][number]['limits'],
      largest_size: plan.largest_size,
      included_standard_hours: plan.included_standard_hours,
      included_hot_storage_bytes: plan.included_hot_storage_bytes,
      overage_allowed: plan.overage_allowed,
      when_used_up: plan.when_used_up,
      price_cents: plan.price_cents,
      currency: plan.currency,
    })),
    sizes: sizes.map(({ id, cpu, memory_mb, disk_gb, weight_milli }) => {
      return { id, cpu, memory_mb, disk_gb, weight_milli }
    }),
    prices: prices.map(({ item, currency, cents, per_units }) => {
      return { item, currency, cents, per_units }
    }),
  }
}

/**
 * Adds a version of the catalog, in effect from a time on, or from now. Versions never change: periods keep
 * the one that they began with. A file that was made from an older version than the newest is refused.
 */
export async function addCatalogVersion(
  app: Pick<App, 'db'>,
  file: CatalogFile,
  effectiveAt: Date | null,
): Promise<{ readonly version: number; readonly effectiveAt: Date }> {
  return app.db.transaction().execute(async (tx) => {
    await sql`lock table catalog_versions in exclusive mode`.execute(tx)
    const newest = await findNewest(tx)
    if (file.catalog_version !== undefined && file.catalog_version !== newest.version) {
      throw conflict(
        `the file was made from version ${file.catalog_version} of the catalog, and the newest is ${newest.version}; make it from that one`,
      )
    }
    const { rows } = await sql<{ now: Date }>`select now() as now`.execute(tx)
    const now = rows[0]!.now
    const at = effectiveAt ?? (newest.effective_at < now ? now : null)
    if (at === null || at <= newest.effective_at) {
      throw conflict(
        `version ${newest.version} of the catalog takes effect at ${newest.effective_at.toISOString()}; choose a later time`,
      )
    }
    if (at < now) throw conflict('the time has passed; leave it out for a version from now on')
    const version = newest.version + 1
    await insertVersion(tx, version, at, file)
    return { version, effectiveAt: at }
  })
}

async function insertVersion(tx: Tx, version: number, at: Date, file: CatalogFile): Promise<void> {
  await tx.insertInto('catalog_versions').values({ version, effective_at: at }).execute()
  const sizes = file.sizes.map((size, index) => ({
    ...size,
    catalog_version: version,
    position: index + 1,
  }))
  await tx.insertInto('catalog_sizes').values(sizes).execute()
  const plans = file.plans.map(({ limits, ...plan }, index) => ({
    ...plan,
    ...limits,
    catalog_version: version,
    position: index + 1,
  }))
  await tx.insertInto('catalog_plans').values(plans).execute()
  const prices = file.prices.map((price) => ({ ...price, catalog_version: version }))
  if (prices.length > 0) await tx.insertInto('catalog_prices').values(prices).execute()
}

async function findNewest(db: Database) {
  return db
    .selectFrom('catalog_versions')
    .selectAll()
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
}
