import type { Selectable } from 'kysely'
import type { Database, Schema } from '../../db/database.ts'
import { notFound } from '../../errors.ts'
import { currentVersion } from '../accounts/plans.ts'

export type PlanRow = Selectable<Schema['catalog_plans']>

/** The catalog that is in effect. */
export async function readCatalog(db: Database) {
  const version = await findCurrentVersion(db)
  return {
    version,
    plans: await listPlans(db, version),
    sizes: await listSizes(db, version),
    prices: await listPrices(db, version),
  }
}

/** A plan of the catalog that is in effect. */
export async function getCurrentPlan(db: Database, planId: string): Promise<PlanRow> {
  return getPlan(db, await findCurrentVersion(db), planId)
}

export async function getPlan(db: Database, version: number, planId: string): Promise<PlanRow> {
  const plan = await db
    .selectFrom('catalog_plans')
    .selectAll()
    .where('catalog_version', '=', version)
    .where('id', '=', planId)
    .executeTakeFirst()
  if (!plan) throw notFound(`plan ${planId}; GET /v1/plans lists the plans`)
  return plan
}

/** From the lowest to the highest. */
export async function listPlans(db: Database, version: number): Promise<PlanRow[]> {
  return db
    .selectFrom('catalog_plans')
    .selectAll()
    .where('catalog_version', '=', version)
    .orderBy('position')
    .execute()
}

export async function listSizes(db: Database, version: number) {
  return db
    .selectFrom('catalog_sizes')
    .selectAll()
    .where('catalog_version', '=', version)
    .orderBy('position')
    .execute()
}

export async function listPrices(db: Database, version: number) {
  return db
    .selectFrom('catalog_prices')
    .selectAll()
    .where('catalog_version', '=', version)
    .orderBy('item')
    .orderBy('currency')
    .execute()
}

async function findCurrentVersion(db: Database): Promise<number> {
  const { version } = await db
    .selectFrom('catalog_versions')
    .select('version')
    .where('version', '=', currentVersion())
    .executeTakeFirstOrThrow()
  return version
}
