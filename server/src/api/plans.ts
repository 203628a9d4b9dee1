import type { CatalogMeter, Meter, Plan, plans } from '@computer/contract'
import type { App } from '../app.ts'
import { getCurrentPlan, readCatalog, type PlanRow } from '../domain/billing/catalog.ts'
import { pageInMemory } from '../domain/page.ts'
import { priceItemOf, storageAndEgressMeters, unitOf } from '../domain/rating.ts'
import type { Routes } from './route.ts'
import { pageToWire } from './to-wire.ts'

export function planRoutes(app: Pick<App, 'db'>): Routes<typeof plans> {
  return {
    async list(_actor, { query }) {
      const catalog = await readCatalog(app.db)
      const page = await pageInMemory(query, catalog.plans, ({ position }) => position)
      const compute = catalog.sizes.map(({ id }) => meterToWire(`compute_${id}_seconds`, id))
      const others = storageAndEgressMeters.map((meter) => meterToWire(meter, null))
      return {
        ...pageToWire(page, planToWire),
        catalog_version: catalog.version,
        sizes: catalog.sizes,
        meters: [...compute, ...others],
        prices: catalog.prices,
      }
    },
    get: async (_actor, { params }) => planToWire(await getCurrentPlan(app.db, params.plan_id)),
  }
}

export function planToWire(row: PlanRow): Plan {
  return { ...row, limits: row }
}

function meterToWire(id: Meter, size: CatalogMeter['size']): CatalogMeter {
  return { id, unit: unitOf(id), size, item: priceItemOf(id) }
}
