import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { ApiKeyId, BudgetId, MachineId, OrganizationId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { MetadataKey, MetadataValue } from './machines.ts'
import { Currency } from './plans.ts'
import { NoContent, text, Timestamp } from './text.ts'

const BudgetName = text(100, 1)

/** At most twelve digits before the point and six after it: exact in all arithmetic. */
const LimitValue = z
  .string()
  .regex(
    /^(?!0+(\.0+)?$)\d{1,12}(\.\d{1,6})?$/,
    'must be a decimal string above 0 with at most six decimals, such as "10" or "0.5"',
  )

export const BudgetScopeType = z
  .enum(['organization', 'api_key', 'machine', 'label'])
  .meta({ id: 'BudgetScopeType' })
export type BudgetScopeType = z.infer<typeof BudgetScopeType>

export const BudgetScope = z
  .strictObject({
    type: BudgetScopeType,
    api_key_id: ApiKeyId.optional().describe(
      'With type api_key: machines that this key set running, and disks that it created.',
    ),
    machine_id: MachineId.optional().describe('With type machine.'),
    label: z
      .strictObject({ key: MetadataKey, value: MetadataValue })
      .optional()
      .describe('With type label: its key must be one of GET /v1/usage/labels.'),
  })
  .meta({ id: 'BudgetScope' })
export type BudgetScope = z.infer<typeof BudgetScope>

export const BudgetLimitType = z.enum(['list_price_cents', 'standard_hours']).meta({
  id: 'BudgetLimitType',
  description:
    'list_price_cents: what the use costs at the prices of the catalog, as if no plan included any. standard_hours: compute alone, in hours of a machine of size standard.',
})
export type BudgetLimitType = z.infer<typeof BudgetLimitType>

export const BudgetLimit = z
  .strictObject({
    type: BudgetLimitType,
    value: LimitValue.describe('A decimal string: cents, or standard-hours.'),
  })
  .meta({ id: 'BudgetLimit' })
export type BudgetLimit = z.infer<typeof BudgetLimit>

export const BudgetWindow = z.enum(['day', 'week', 'month', 'once']).meta({
  id: 'BudgetWindow',
  description:
    'In UTC; a week begins on Monday. once: from the creation of the budget on, without an end.',
})
export type BudgetWindow = z.infer<typeof BudgetWindow>

export const BudgetAction = z.enum(['notify', 'refuse', 'stop']).meta({
  id: 'BudgetAction',
  description:
    'What happens once nothing is left, besides the mails. refuse: machines in the scope cannot be created running, started or forked. stop: that, and those that run are stopped.',
})
export type BudgetAction = z.infer<typeof BudgetAction>

const maxThresholds = 10
const Thresholds = z
  .array(z.int().min(1).max(100))
  .max(maxThresholds)
  .refine((all) => new Set(all).size === all.length, 'must be different percentages')
  .describe('Percentages of the limit. The owners get a mail at each, once in a window.')
const MinimumRun = z
  .int()
  .min(1)
  .max(86_400)
  .describe(
    'A machine starts only if its compute of this many seconds is left, beside what others that start have not used of theirs; of an amount, at least one cent.',
  )

const Amount = z.string().regex(/^\d+\.\d{6}$/)

export const Budget = z
  .object({
    id: BudgetId,
    organization_id: OrganizationId,
    name: BudgetName,
    scope: BudgetScope,
    limit: BudgetLimit,
    window: BudgetWindow,
    thresholds: Thresholds,
    action: BudgetAction,
    minimum_run_seconds: MinimumRun,
    used: Amount.describe('In the window so far, in the unit of the limit, with six decimals.'),
    remaining: Amount.describe('The limit less what is used; at least 0.'),
    currency: Currency.describe('The currency of cents.'),
    window_start: Timestamp,
    window_end: Timestamp.nullable().describe('Null: never.'),
    exhausts_at: Timestamp.nullable().describe(
      'When nothing will be left if what runs and is stored now goes on. Null: not in this window, or nothing is left already.',
    ),
    exhausted: z.boolean().describe('Whether nothing is left.'),
    created_at: Timestamp,
  })
  .meta({ id: 'Budget' })
export type Budget = z.infer<typeof Budget>

export const CreateBudget = z.strictObject({
  name: BudgetName.describe('Unique in the organization.'),
  scope: BudgetScope.default({ type: 'organization' }),
  limit: BudgetLimit,
  window: BudgetWindow.default('month'),
  thresholds: Thresholds.default([80, 100]),
  action: BudgetAction.default('notify'),
  minimum_run_seconds: MinimumRun.default(60),
})
export type CreateBudget = z.infer<typeof CreateBudget>

export const UpdateBudget = z.strictObject({
  name: BudgetName.optional(),
  limit: BudgetLimit.optional().describe('Of the same type as before.'),
  thresholds: Thresholds.optional(),
  action: BudgetAction.optional(),
  minimum_run_seconds: MinimumRun.optional(),
})
export type UpdateBudget = z.infer<typeof UpdateBudget>

const params = z.object({ budget_id: BudgetId })

export const budgets = {
  list: endpoint({
    method: 'GET',
    path: '/v1/budgets',
    summary: 'List budgets with what is used of them, newest first.',
    requires: 'member',
    query: PageQuery.extend({
      machine_id: MachineId.optional().describe('Lists only budgets that this machine counts for.'),
    }),
    status: 200,
    response: pageOf(Budget),
  }),
  create: endpoint({
    method: 'POST',
    path: '/v1/budgets',
    summary: 'Create a budget. What was used in its window before counts.',
    requires: 'billing:manage',
    body: CreateBudget,
    status: 201,
    response: Budget,
    creates: true,
    audits: 'budget.created',
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/budgets/{budget_id}',
    summary: 'Get a budget with what is used of it.',
    requires: 'member',
    params,
    status: 200,
    response: Budget,
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/v1/budgets/{budget_id}',
    summary: 'Change a budget. The change takes effect at once.',
    requires: 'billing:manage',
    params,
    body: UpdateBudget,
    status: 200,
    response: Budget,
    audits: 'budget.updated',
  }),
  delete: endpoint({
    method: 'DELETE',
    path: '/v1/budgets/{budget_id}',
    summary: 'Delete a budget. Machines that it stopped stay stopped.',
    requires: 'billing:manage',
    params,
    status: 204,
    response: NoContent,
    audits: 'budget.deleted',
  }),
}
