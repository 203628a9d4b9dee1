import type { BillingAccount } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { catalogQuery, hasPlan } from '../../api/billing.ts'
import { notify } from '../../ui/notify.ts'

/** Says that a payment is being confirmed, from the return of the browser until the account has the plan. */
export function Chosen({
  account,
  planId,
}: {
  readonly account: BillingAccount
  readonly planId: string
}) {
  const catalog = useQuery(catalogQuery)
  const navigate = useNavigate()
  const isThere = hasPlan(account, planId)
  const name = catalog.data?.data.find(({ id }) => id === planId)?.name ?? planId
  useEffect(() => {
    if (!isThere) return
    notify(`The plan ${name} was chosen`)
    // A later visit by the same address must not wait for a plan of the past.
    void navigate({ to: '/billing', replace: true })
  }, [isThere, name, navigate])
  if (isThere) return null
  return (
    <p role="status" className="rounded-lg border border-accent bg-accent-soft p-4">
      The payment for the plan <strong>{name}</strong> is being confirmed. This takes a few seconds,
      and with some banks longer; the plan changes by itself.
    </p>
  )
}
