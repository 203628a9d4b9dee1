import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { QuotaLimit } from './errors.ts'
import { MachineId, OrganizationId } from './ids.ts'
import { MachineSize } from './machines.ts'
import { Currency, Meter, MeterUnit, Plan, PlanName, Quantity } from './plans.ts'
import { text, Timestamp } from './text.ts'

const Decimal = z.string().regex(/^\d+\.\d{6}$/)
const StandardHours = Decimal.describe('Standard-hours as a decimal string with six decimals.')
const CentsPerHour = Decimal.describe('Cents as a decimal string with six decimals.')

export const UsageLine = z
  .object({
    meter: Meter,
    unit: MeterUnit,
    quantity: Quantity,
    included: Quantity,
    billable: Quantity.describe('What is not included: quantity less included.'),
    amount_cents: z.int().describe('Rounded once. 0 if the plan does not allow overage.'),
    currency: Currency,
  })
  .meta({ id: 'UsageLine' })
export type UsageLine = z.infer<typeof UsageLine>

export const BillingAdjustment = z
  .object({
    amount_cents: z.int().describe('Negative: a credit.'),
    currency: Currency,
    reason: z.string(),
    created_at: Timestamp,
  })
  .meta({ id: 'BillingAdjustment' })
export type BillingAdjustment = z.infer<typeof BillingAdjustment>

export const UsageSummary = z
  .object({
    status: z
      .enum(['estimate', 'final'])
      .describe('A period is an estimate until it has been closed, minutes after its end.'),
    plan_id: z.string(),
    catalog_version: z
      .int()
      .describe('The version of the catalog that the period is priced under.'),
    period_start: Timestamp,
    period_end: Timestamp,
    lines: z.array(UsageLine).describe('One for every meter.'),
    compute_credits: z.object({
      included: StandardHours,
      used: StandardHours.describe('May be more than what is included.'),
      remaining: StandardHours.describe('At least 0.'),
    }),
    adjustments: z
      .array(BillingAdjustment)
      .describe('Corrections by the operator of the server, the oldest first.'),
    total_cents: z
      .int()
      .describe(
        "The sum of the lines and the adjustments, negative if it is a credit. The plan's own price is not in it.",
      ),
    currency: Currency,
  })
  .meta({ id: 'UsageSummary' })
export type UsageSummary = z.infer<typeof UsageSummary>

export const BillingState = z
  .enum(['trialing', 'active', 'past_due', 'canceled'])
  .meta({ id: 'BillingState' })
export type BillingState = z.infer<typeof BillingState>

export const BillingAccount = z
  .object({
    organization_id: OrganizationId,
    state: BillingState,
    past_due_since: Timestamp.nullable().describe('When a payment that is missing became due.'),
    starting_refused_at: Timestamp.nullable().describe(
      'From then on, machines can be neither created, started nor forked, because a payment is due. What runs goes on.',
    ),
    trial_ends_at: Timestamp.nullable().describe('Of a trial.'),
    machines_stop_at: Timestamp.nullable().describe(
      'Machines that then run beyond the limits of the plan are stopped, because a trial or a canceled plan ended. Their disks are kept.',
    ),
    plan: Plan.describe('As in the version of the catalog that the period is priced under.'),
    next_plan_id: z.string().nullable().describe('The plan that follows, if another one does.'),
    next_plan_at: Timestamp.nullable().describe(
      'When it does: at the end of the period, of the trial, or of a canceled plan.',
    ),
    period_start: Timestamp,
    period_end: Timestamp,
    catalog_version: z.int(),
    limits: z
      .array(
        z.object({
          key: QuotaLimit,
          current: z.int().describe('Of snapshots_per_machine: of the machine with the most.'),
          limit: z.int().nullable().describe('Null: not agreed yet, so it is refused.'),
        }),
      )
      .describe('The limits in effect, with what was agreed beside the plan.'),
    largest_size: MachineSize.describe('The largest size in effect.'),
    collects_payments: z
      .boolean()
      .describe('Whether this server collects what is due. If not, amounts only inform.'),
    has_subscription: z
      .boolean()
      .describe(
        'Whether the plan is paid for by a subscription that goes on. Another plan then changes it.',
      ),
  })
  .meta({ id: 'BillingAccount' })
export type BillingAccount = z.infer<typeof BillingAccount>

export const CostEstimate = z
  .object({
    size: MachineSize,
    count: z.int(),
    compute_cents_per_hour: CentsPerHour.describe(
      'For compute, once none is included any more. 0 if the plan does not allow overage.',
    ),
    hot_storage_cents_per_hour: CentsPerHour.describe(
      'For disks of new machines, beyond the disk that is included.',
    ),
    cents_per_hour: CentsPerHour.describe('Both together.'),
    currency: Currency,
    included_standard_hours: StandardHours.describe('Compute that the period still includes.'),
    included_until: Timestamp.nullable().describe(
      'When it is used up, if these machines and all that run now go on running. Null: not before the period ends.',
    ),
    period_end: Timestamp,
    catalog_version: z.int(),
  })
  .meta({ id: 'CostEstimate' })
export type CostEstimate = z.infer<typeof CostEstimate>

const PageAddress = text(2048, 1)
const page = 'It must have an origin of this service.'
const Redirect = z.object({ url: z.string().describe('Send the browser there.') })

export const billing = {
  account: endpoint({
    method: 'GET',
    path: '/v1/billing',
    summary: "Get the organization's billing account: its plan, period and limits.",
    requires: 'member',
    status: 200,
    response: BillingAccount,
  }),
  summary: endpoint({
    method: 'GET',
    path: '/v1/billing/usage-summary',
    summary: 'Get what a billing period has used, what of it is included, and what it costs.',
    requires: 'member',
    query: z.strictObject({
      period: Timestamp.optional().describe(
        'Any time in the period. The period before another contains the millisecond before its period_start. Default: now.',
      ),
    }),
    status: 200,
    response: UsageSummary,
  }),
  estimate: endpoint({
    method: 'POST',
    path: '/v1/billing/estimate',
    summary: 'Estimate what machines would cost, before they are created or started.',
    requires: 'member',
    body: z.strictObject({
      size: MachineSize.optional().describe('For new machines. Give either this or machine_id.'),
      machine_id: MachineId.optional().describe('For the start of a machine that exists.'),
      count: z.int().min(1).max(1000).default(1).describe('How many new machines.'),
    }),
    status: 200,
    response: CostEstimate,
  }),
  checkout: endpoint({
    method: 'POST',
    path: '/v1/billing/checkout',
    summary:
      'Begin the purchase of a plan, or change the subscription to it. Fails without a payment provider on the server.',
    requires: 'billing:manage',
    body: z.strictObject({
      plan_id: PlanName,
      success_url: PageAddress.describe(`The page that the browser returns to. ${page}`),
      cancel_url: PageAddress.optional().describe(
        `The page that the browser returns to without a purchase. ${page} Default: the billing page of the dashboard.`,
      ),
    }),
    status: 200,
    response: Redirect,
    audits: 'billing.plan_chosen',
  }),
  portal: endpoint({
    method: 'POST',
    path: '/v1/billing/portal',
    summary: 'Open the customer portal. Fails without a payment provider on the server.',
    requires: 'billing:manage',
    body: z.strictObject({
      return_url: PageAddress.optional().describe(
        `The page that the browser returns to. ${page} Default: the billing page of the dashboard.`,
      ),
    }),
    status: 200,
    response: Redirect,
    audits: 'billing.portal_opened',
  }),
}
