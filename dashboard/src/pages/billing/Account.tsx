import type { BillingAccount } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { catalogQuery, openPortal } from '../../api/billing.ts'
import { useDenial } from '../../api/session.ts'
import { formatMoney, formatPeriodDay } from '../../format.ts'
import { Badge, type Tone } from '../../ui/Badge.tsx'
import { Button } from '../../ui/Button.tsx'
import { notifyError } from '../../ui/notify.ts'

const states: Readonly<
  Record<BillingAccount['state'], { readonly text: string; readonly tone: Tone }>
> = {
  trialing: { text: 'Trial', tone: 'accent' },
  active: { text: 'Active', tone: 'good' },
  past_due: { text: 'Payment is due', tone: 'bad' },
  canceled: { text: 'Canceled', tone: 'warn' },
}

/** The plan, its period, and the way to invoices where somebody collects payments. */
export function Account({ account }: { readonly account: BillingAccount }) {
  const { plan, state, periodStart, periodEnd, nextPlanId, nextPlanAt, collectsPayments } = account
  const catalog = useQuery(catalogQuery)
  const next = catalog.data?.data.find(({ id }) => id === nextPlanId)?.name ?? nextPlanId
  return (
    <section
      aria-label="Plan"
      className="flex flex-wrap items-center gap-x-6 gap-y-3 rounded-lg border border-line bg-raised p-4"
    >
      <div className="min-w-0 flex-1 basis-60 space-y-1">
        <p className="flex flex-wrap items-center gap-2 text-base font-semibold">
          {plan.name}
          <Badge tone={states[state].tone}>{states[state].text}</Badge>
        </p>
        <p className="text-muted">
          {priceOf(plan)} · this period is from {formatPeriodDay(periodStart)} until{' '}
          {formatPeriodDay(lastDayOf(periodEnd))}
        </p>
        {nextPlanAt !== null && (
          <p>
            From {formatPeriodDay(nextPlanAt)} on, the plan is <strong>{next}</strong>.
          </p>
        )}
        {!collectsPayments && (
          <p className="text-muted">
            This server collects no payments: amounts only inform. Its operator sets the plans.
          </p>
        )}
      </div>
      {collectsPayments && <PortalButton />}
    </section>
  )
}

function PortalButton() {
  const denied = useDenial('billing:manage')
  const [isBusy, setBusy] = useState(false)
  return (
    <Button
      busy={isBusy}
      disabledReason={denied}
      onClick={() => {
        setBusy(true)
        openPortal().catch((error: unknown) => {
          notifyError('The page of the payment could not be opened', error)
          setBusy(false)
        })
      }}
    >
      Manage payment
    </Button>
  )
}

export function priceOf({
  priceCents,
  currency,
}: {
  readonly priceCents: number | null
  readonly currency: string
}): string {
  if (priceCents === null) return 'Price by agreement'
  return priceCents === 0 ? 'Free' : `${formatMoney(priceCents, currency)} a month`
}

/** The last day of a period, whose end is the first moment after it. */
export function lastDayOf(end: string): string {
  return new Date(Date.parse(end) - 1).toISOString()
}
