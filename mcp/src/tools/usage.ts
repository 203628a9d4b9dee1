import type { BillingAccount, Budget, Meter, UsageSummary } from '@computer/sdk'
import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { readOnly, tool, type Tool, type ToolCall } from '../tool.ts'
import { formatBytes } from '../text.ts'

export const usageTools: readonly Tool[] = [
  tool({
    name: 'usage',
    title: 'Show usage and limits',
    description:
      'Show what the organization used in the current billing period, what that costs, and how much of each ' +
      'limit of its plan and of each budget is in use; with a machine, what that machine used, and the budgets that it counts for. Use it before you create ' +
      'several machines, after a call was refused because of the plan or a budget, or if the user asks about costs. ' +
      'stop_machine ends the use of compute.',
    input: z.strictObject({ machine: machine.optional() }),
    annotations: readOnly,
    async run(call, input) {
      if (input.machine === undefined) return describeOrganization(call)
      const found = await findMachine(call, input.machine)
      return describeMachine(call, found)
    },
  }),
]

async function describeOrganization({ connection, signal }: ToolCall): Promise<string> {
  const { billing } = connection.computer
  const account = await billing.account({ signal })
  const summary = await billing.summary({ signal })
  const limits = account.limits.map(
    ({ key, current, limit }) => `${key}: ${current} of ${limit ?? 'a number to be agreed'}`,
  )
  return [
    `Plan ${account.plan.name}, machines up to ${account.largestSize}, ${describePeriod(summary)}`,
    ...describeStanding(account),
    ...limits,
    describeCredits(summary),
    ...summary.lines
      .filter(({ quantity }) => quantity !== '0')
      .map(
        ({ meter, quantity, amountCents, currency }) =>
          `${meter}: ${describe(meter, quantity)}, ${formatCents(amountCents, currency)}`,
      ),
    ...summary.adjustments.map(
      ({ amountCents, currency, reason }) =>
        `adjustment (${reason}): ${formatCents(amountCents, currency)}`,
    ),
    `total: ${formatCents(summary.totalCents, summary.currency)}${account.collectsPayments ? '' : ' (for information: this server collects no payments)'}`,
    ...(await describeBudgets({ connection, signal })),
  ].join('\n')
}

/** The states of the account that are unusual, and the times of their consequences. */
function describeStanding(account: BillingAccount): string[] {
  const { pastDueSince, startingRefusedAt, trialEndsAt, machinesStopAt, nextPlanId } = account
  const next =
    nextPlanId === null ? [] : [`from ${account.nextPlanAt} on, the plan is ${nextPlanId}`]
  return [
    ...(pastDueSince
      ? [
          `a payment is due since ${pastDueSince}: from ${startingRefusedAt} on, machines can be neither created, started nor forked; what runs goes on`,
        ]
      : []),
    ...(trialEndsAt ? [`the trial ends at ${trialEndsAt}`] : []),
    ...next,
    ...(machinesStopAt
      ? [`machines that run beyond the plan are stopped at ${machinesStopAt}; their disks are kept`]
      : []),
  ]
}

async function describeMachine(
  { connection, signal }: ToolCall,
  { id: machineId, name }: { readonly id: string; readonly name: string },
): Promise<string> {
  const { usage } = connection.computer
  const { data } = await usage.list({ machineId, groupBy: 'machine', limit: 100, signal })
  const lines = data.map(({ meter, quantity }) => `${meter}: ${describe(meter, quantity)}`)
  const used =
    data.length === 0
      ? [`${name} has used nothing in this billing period.`]
      : [`${name} in this billing period:`, ...lines]
  return [...used, ...(await describeBudgets({ connection, signal }, machineId))].join('\n')
}

/** The budgets of the organization, or those that a machine counts for. */
async function describeBudgets(
  { connection, signal }: Pick<ToolCall, 'connection' | 'signal'>,
  machineId?: string,
): Promise<string[]> {
  const budgets = await connection.computer.budgets.list({ machineId, limit: 100, signal }).all()
  return budgets.map((budget) => {
    const { name, id, scope, limit, used, remaining, currency, window, action } = budget
    const isHours = limit.type === 'standard_hours'
    const show = (value: string) =>
      isHours ? String(Number(Number(value).toFixed(3))) : (Number(value) / 100).toFixed(2)
    const unit = isHours ? 'standard-hours' : `${currency.toUpperCase()} at list price`
    const whole = `${show(used)} of ${show(limit.value)} ${unit} used, ${show(remaining)} left`
    const per = window === 'once' ? 'in all' : `this ${window}`
    return `budget "${name}" (${id}) of ${describeScope(scope)}: ${whole} ${per}; ${describeEnd(budget)}; action ${action}`
  })
}

function describeScope({ type, apiKeyId, machineId, label }: Budget['scope']): string {
  if (label) return `label ${label.key}=${label.value}`
  return type === 'organization' ? 'the organization' : (apiKeyId ?? machineId ?? type)
}

function describeEnd({ exhausted, exhaustsAt, windowEnd }: Budget): string {
  if (exhausted) return windowEnd ? `used up until ${windowEnd}` : 'used up'
  return exhaustsAt ? `used up at ${exhaustsAt} if what runs goes on` : 'not running out'
}

function describePeriod({ periodStart, periodEnd }: UsageSummary): string {
  return `billing period ${periodStart} to ${periodEnd}`
}

function describeCredits({ computeCredits: { used, included, remaining } }: UsageSummary): string {
  return `included compute: ${used} of ${included} standard-hours used, ${remaining} remaining`
}

/** Rounded, for reading. */
function describe(meter: Meter, quantity: string): string {
  const amount = Number(quantity)
  if (meter === 'egress_bytes') return formatBytes(amount)
  const hours = Number((amount / 3600).toPrecision(4))
  if (!meter.endsWith('_byte_seconds')) return `${hours} hours`
  return `${Number((hours / 1e9).toPrecision(4))} GB-hours`
}

function formatCents(cents: number, currency: string): string {
  return `${(cents / 100).toFixed(2)} ${currency.toUpperCase()}`
}
