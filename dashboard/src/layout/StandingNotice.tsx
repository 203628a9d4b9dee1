import type { BillingAccount } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { accountQuery } from '../api/billing.ts'
import { formatDateTime } from '../format.ts'

const trialNoticeMs = 3 * 86_400_000

/** On every page: a payment that is due, a plan that ends, and what happens when. */
export function StandingNotice() {
  const { data: account, dataUpdatedAt } = useQuery({
    ...accountQuery,
    refetchInterval: 5 * 60_000,
  })
  const sentences = account ? describe(account, dataUpdatedAt) : []
  return (
    <div role="status">
      {sentences.length > 0 && (
        <p className="bg-warn-soft px-4 py-2 text-warn">
          {sentences.join(' ')}{' '}
          <Link to="/billing" className="font-medium underline">
            Plan and billing
          </Link>
        </p>
      )}
    </div>
  )
}

function describe(account: BillingAccount, now: number): string[] {
  const { pastDueSince, startingRefusedAt, trialEndsAt, machinesStopAt, nextPlanAt, state } =
    account
  const sentences: string[] = []
  if (pastDueSince !== null && startingRefusedAt !== null) {
    sentences.push(
      Date.parse(startingRefusedAt) <= now
        ? `A payment is due since ${formatDateTime(pastDueSince)}: until it is paid, machines cannot be created, started or forked. What runs goes on.`
        : `A payment is due. From ${formatDateTime(startingRefusedAt)} on, machines cannot be created, started or forked.`,
    )
  }
  const isTrialNear = trialEndsAt !== null && Date.parse(trialEndsAt) - now < trialNoticeMs
  if (isTrialNear) sentences.push(`The trial ends ${formatDateTime(trialEndsAt)}.`)
  const isEnding = state === 'canceled' && nextPlanAt !== null
  if (isEnding) sentences.push(`The plan was canceled and ends ${formatDateTime(nextPlanAt)}.`)
  if (machinesStopAt !== null && (isTrialNear || isEnding || state === 'active')) {
    const plan = state === 'active' ? 'the plan' : 'the next plan'
    sentences.push(
      `Machines that run beyond ${plan} are stopped ${formatDateTime(machinesStopAt)}. Their disks are kept.`,
    )
  }
  return sentences
}
