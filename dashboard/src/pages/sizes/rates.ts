import type { MachineSize } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { accountQuery, catalogQuery } from '../../api/billing.ts'
import { formatRate } from '../../format.ts'

const secondsOfHour = 3_600

/**
 * What an hour of each size costs once no compute is included any more, as text. Empty while it is not known,
 * and on a plan that charges nothing beyond what it includes.
 */
export function useRates(): ReadonlyMap<MachineSize, string> {
  const { data: catalog } = useQuery(catalogQuery)
  const { data: account } = useQuery(accountQuery)
  const price = catalog?.prices.find(
    ({ item, currency }) => item === 'compute' && currency === account?.plan.currency,
  )
  if (!catalog || !account?.plan.overageAllowed || !price?.cents) return new Map()
  const { cents, perUnits, currency } = price
  return new Map(
    catalog.sizes.map(({ id, weightMilli }) => [
      id,
      formatRate((cents * weightMilli * secondsOfHour) / Number(perUnits), currency),
    ]),
  )
}
