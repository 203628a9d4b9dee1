import type { PriceItem } from '@computer/contract'
import type { Database, PeriodRow } from '../../db/database.ts'
import { computeAllowance } from '../compute-allowance.ts'
import type { Price, Tariff } from '../rating.ts'
import { getPlan, listPrices, listSizes } from './catalog.ts'

type TariffPeriod = Pick<
  PeriodRow,
  'plan_id' | 'catalog_version' | 'terms' | 'has_whole_allowance' | 'starts_at' | 'ends_at'
>

export type PeriodTariff = Tariff & { readonly currency: string }

/** What a period is priced under: its own version of the catalog, and the terms it began with. */
export async function readTariff(db: Database, period: TariffPeriod): Promise<PeriodTariff> {
  const { catalog_version: version, terms } = period
  const plan = await getPlan(db, version, period.plan_id)
  const sizes = await listSizes(db, version)
  const prices = await listPrices(db, version)
  return {
    ...computeAllowance(period, plan),
    currency: plan.currency,
    sizes: sizes.map(({ id, weight_milli }) => ({ id, weightMilli: BigInt(weight_milli) })),
    prices: Object.fromEntries(
      prices.flatMap(({ item, currency, cents, per_units }): [PriceItem, Price][] =>
        currency === plan.currency && cents !== null
          ? [[item, { cents: BigInt(cents), perUnits: BigInt(per_units) }]]
          : [],
      ),
    ),
    includedHotStorageBytes: BigInt(
      terms['included_hot_storage_bytes'] ?? plan.included_hot_storage_bytes ?? 0,
    ),
    overageAllowed: plan.overage_allowed,
  }
}
