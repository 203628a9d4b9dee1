import type { BillingAccount, CatalogPrice, Plan } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { buyPlan, catalogQuery } from '../../api/billing.ts'
import { useDenial } from '../../api/session.ts'
import { formatBytes, formatNumber } from '../../format.ts'
import { formatPrice } from '../../quantities.ts'
import { Badge } from '../../ui/Badge.tsx'
import { Button } from '../../ui/Button.tsx'
import { Confirm } from '../../ui/Confirm.tsx'
import { cx } from '../../ui/cx.ts'
import { notifyError } from '../../ui/notify.ts'
import { QueryView } from '../../ui/QueryView.tsx'
import { quotaWords } from '../../words.ts'
import { priceOf } from './Account.tsx'
import { Part } from './Part.tsx'

/** The plans of the catalog, from the lowest to the highest. */
export function Plans({ account }: { readonly account: BillingAccount }) {
  const query = useQuery(catalogQuery)
  return (
    <Part title="Plans">
      <QueryView query={query}>
        {({ data, prices }) => (
          <>
            <ul className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
              {data.map((plan) => (
                <PlanCard key={plan.id} plan={plan} account={account} />
              ))}
            </ul>
            <Prices prices={prices} />
          </>
        )}
      </QueryView>
    </Part>
  )
}

const itemWords: Readonly<Record<CatalogPrice['item'], string>> = {
  compute: 'Compute',
  hot_storage: 'Disks of machines',
  cold_storage: 'Snapshots and templates',
  egress: 'Traffic to viewers',
}

/** What use beyond the included costs. */
function Prices({ prices }: { readonly prices: readonly CatalogPrice[] }) {
  return (
    <div className="mt-4">
      <h3 className="text-[13px] font-medium">Beyond what a plan includes</h3>
      <dl className="mt-1 text-[13px]">
        {prices.map((price) => (
          <div key={`${price.item} ${price.currency}`} className="flex flex-wrap gap-x-3">
            <dt className="w-48 text-muted">{itemWords[price.item]}</dt>
            <dd>{formatPrice(price) ?? 'free'}</dd>
          </div>
        ))}
      </dl>
    </div>
  )
}

function PlanCard({ plan, account }: { readonly plan: Plan; readonly account: BillingAccount }) {
  const isOwn = plan.id === account.plan.id
  return (
    <li
      className={cx(
        'flex min-w-0 flex-col gap-3 rounded-lg border p-4',
        isOwn ? 'border-accent bg-accent-soft' : 'border-line bg-raised',
      )}
    >
      <div>
        <h3 className="flex items-center gap-2 text-base font-semibold">
          {plan.name}
          {isOwn && <Badge tone="accent">Your plan</Badge>}
        </h3>
        <p className="text-muted">{priceOf(plan)}</p>
      </div>
      <ul className="flex-1 space-y-0.5 text-[13px]">
        {termsOf(plan).map((term) => (
          <li key={term}>{term}</li>
        ))}
      </ul>
      {!isOwn && <Choose plan={plan} account={account} />}
    </li>
  )
}

/** Leads to the payment. A subscription is changed at once, so that is asked first. */
function Choose({ plan, account }: { readonly plan: Plan; readonly account: BillingAccount }) {
  const denied = useDenial('billing:manage')
  const [isBusy, setBusy] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const choose = async () => {
    setBusy(true)
    try {
      await buyPlan(plan.id)
    } catch (error) {
      notifyError(`${plan.name} could not be chosen`, error)
      setBusy(false)
    }
  }
  return (
    <>
      <Button
        busy={isBusy}
        disabledReason={denied ?? refusalOf(plan, account)}
        onClick={() => (account.hasSubscription ? setAsking(true) : void choose())}
      >
        Choose {plan.name}
      </Button>
      <Confirm
        open={isAsking}
        onOpenChange={setAsking}
        title={`Change the subscription to ${plan.name}?`}
        action="Change the subscription"
        look="primary"
        onConfirm={choose}
      >
        It then costs {priceOf(plan)}. A higher plan counts at once, and the difference for the rest
        of the month is charged to the means of payment on file. A lower plan counts from the next
        period on.
      </Confirm>
    </>
  )
}

/** Why a plan cannot be bought here. */
function refusalOf({ priceCents }: Plan, account: BillingAccount): string | undefined {
  if (!account.collectsPayments || priceCents === null)
    return 'The operator of this server sets the plans. Ask them for this one.'
  if (priceCents > 0) return undefined
  return account.hasSubscription
    ? 'Cancel the subscription under Manage payment: this plan follows.'
    : 'This plan costs nothing, so there is nothing to buy. Ask the operator of this server for it.'
}

/** What a plan gives, line by line. What is negotiated has no number. */
function termsOf(plan: Plan): readonly string[] {
  const { limits, largestSize, includedStandardHours: hours, includedHotStorageBytes } = plan
  const count = (number: number | null, words: string) =>
    number === null ? `${words} by agreement` : `${formatNumber(number)} ${words}`
  const { running_machines, machines, ...others } = quotaWords
  return [
    count(limits.runningMachines, running_machines),
    count(limits.machines, machines),
    largestSize === null ? 'sizes by agreement' : `machines up to the size ${largestSize}`,
    count(hours, 'standard-hours included'),
    includedHotStorageBytes === null
      ? 'disk by agreement'
      : `${formatBytes(includedHotStorageBytes)} of disk included`,
    count(limits.members, others.members),
    count(limits.templates, others.templates),
    count(limits.snapshotsPerMachine, others.snapshots_per_machine),
    count(limits.concurrentSessions, others.concurrent_sessions),
    plan.overageAllowed ? 'use beyond is charged' : beyond[plan.whenUsedUp],
  ]
}

/** Once the included compute is used up, without overage. */
const beyond: Readonly<Record<Plan['whenUsedUp'], string>> = {
  allow: 'use beyond is free',
  refuse: 'no machine starts once the compute is used up',
  stop: 'machines stop once the compute is used up',
}
