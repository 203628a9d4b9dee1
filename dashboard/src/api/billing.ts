import type { BillingAccount, MachineSize } from '@computer/sdk'
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { computer } from './client.ts'

const minuteMs = 60_000
const pollMs = 3_000
/** The provider tells the server of a payment within seconds. */
const waitingPollMs = 1_000

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

/**
 * The account, read again and again: the server hears of what a person does on the provider's pages a moment after the
 * browser is back. After a payment for a plan, a person waits for it.
 */
export function polledAccountQuery(chosenPlanId: string | undefined) {
  const isWaiting = (account: BillingAccount | undefined) =>
    chosenPlanId !== undefined && !(account && hasPlan(account, chosenPlanId))
  return queryOptions({
    ...accountQuery,
    refetchInterval: ({ state: { data } }) => (isWaiting(data) ? waitingPollMs : pollMs),
  })
}

/** Whether the plan is in effect, or will be from the next period on. */
export function hasPlan({ plan, nextPlanId }: BillingAccount, planId: string): boolean {
  return (nextPlanId ?? plan.id) === planId
}

/** Leaves for the page on which the plan is paid for. It leads back here, with the plan if it was paid. */
export async function buyPlan(planId: string): Promise<void> {
  const cancelUrl = `${window.location.origin}/billing`
  const successUrl = `${cancelUrl}?chosen=${encodeURIComponent(planId)}`
  const { url } = await computer.billing.checkout({ planId, successUrl, cancelUrl })
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
