import type { MachineSize } from '@computer/sdk'
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { computer } from './client.ts'

const minuteMs = 60_000

/** Plans, sizes and prices. An operator changes them rarely. */
export const catalogQuery = queryOptions({
  queryKey: ['catalog'] as const,
  queryFn: async ({ signal }) => computer.plans.list({ limit: 100, signal }),
  staleTime: 10 * minuteMs,
})

/** The plan of the organization, its period, and what is used of its limits. */
export const accountQuery = queryOptions({
  queryKey: ['billing', 'account'] as const,
  queryFn: async ({ signal }) => computer.billing.account({ signal }),
})

/** What the period that contains a time costs, by default the current one. */
export function summaryQuery(period?: string) {
  return queryOptions({
    queryKey: ['billing', 'summary', period ?? null] as const,
    queryFn: async ({ signal }) => computer.billing.summary({ period, signal }),
    refetchInterval: minuteMs,
  })
}

/** What a new machine of a size would cost. */
export function estimateQuery(size: MachineSize) {
  return queryOptions({
    queryKey: ['billing', 'estimate', size] as const,
    queryFn: async ({ signal }) => computer.billing.estimate({ size }, { signal }),
    placeholderData: keepPreviousData,
  })
}

/** Leaves for the page on which the plan is bought, which leads back to this one. */
export async function buyPlan(planId: string): Promise<void> {
  const { url } = await computer.billing.checkout({ planId, successUrl: window.location.href })
  leaveFor(url)
}

/** Leaves for the provider's page of invoices and means of payment, which leads back to this one. */
export async function openPortal(): Promise<void> {
  const { url } = await computer.billing.portal({ returnUrl: window.location.href })
  leaveFor(url)
}

function leaveFor(url: string): void {
  const { protocol } = new URL(url)
  if (protocol !== 'https:' && protocol !== 'http:') throw new Error(`${url} is not a web page.`)
  window.location.assign(url)
}
