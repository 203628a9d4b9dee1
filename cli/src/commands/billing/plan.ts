import type { BillingAccount, Plan } from '@computer/sdk'
import { connect } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showList, showRecord, type Columns } from '../../output.ts'
import { formatBytes } from '../../text.ts'
import { formatCents } from './quantities.ts'

export const plan = clientCommand('plan')
  .description("Show the organization's plan, and what is used of its limits.")
  .option('--all', 'list all plans instead')
  .action(async ({ all, ...options }) => {
    await using computer = await connect(options)
    if (all) {
      const { data } = await computer.plans.list({ limit: 100 })
      return showList(data, planColumns, { ...options, emptyMessage: 'There are no plans.' })
    }
    const account = await computer.billing.account()
    const limits = account.limits.map(({ key, current, limit }) => [
      key.replaceAll('_', ' '),
      () => `${current} of ${limit ?? 'a number to be agreed'}`,
    ])
    const standing = Object.entries(standingLines).filter(([, read]) => read(account) !== null)
    const lines = { ...accountLines, ...Object.fromEntries([...standing, ...limits]) }
    showRecord(account, lines, options)
  })

const accountLines: Columns<BillingAccount> = {
  plan: ({ plan: { name, id } }) => `${name} (${id})`,
  state: ({ state }) => state,
  period: ({ periodStart, periodEnd }) => `${periodStart} to ${periodEnd}`,
  'next plan': ({ nextPlanId, nextPlanAt }) => nextPlanId && `${nextPlanId}, from ${nextPlanAt}`,
  'largest size': ({ largestSize }) => largestSize,
}

/** Shown only if there is something to tell. */
const standingLines: Columns<BillingAccount> = {
  'payment due since': ({ pastDueSince }) => pastDueSince,
  'no starts from': ({ startingRefusedAt }) => startingRefusedAt,
  'trial ends': ({ trialEndsAt }) => trialEndsAt,
  'machines beyond the plan stop': ({ machinesStopAt }) => machinesStopAt,
}

const planColumns: Columns<Plan> = {
  id: ({ id }) => id,
  name: ({ name }) => name,
  'a month': ({ priceCents, currency }) => priceCents && formatCents(priceCents, currency),
  machines: ({ limits }) => limits.machines,
  running: ({ limits }) => limits.runningMachines,
  size: ({ largestSize }) => largestSize,
  'standard-hours': ({ includedStandardHours }) => includedStandardHours,
  storage: ({ includedHotStorageBytes: bytes }) => bytes && formatBytes(bytes),
  overage: ({ overageAllowed, whenUsedUp }) => (overageAllowed ? 'charged' : beyond[whenUsedUp]),
}

const beyond: Readonly<Record<Plan['whenUsedUp'], string>> = {
  allow: 'free',
  refuse: 'no more starts',
  stop: 'machines stop',
}
