import type {
  BudgetAction,
  BudgetId,
  BudgetLimitType,
  BudgetScopeType,
  BudgetWindow,
  OrganizationId,
} from '@computer/contract'
import type { Generated } from 'kysely'
import type { At } from './at.ts'

/** Budgets, and what is known of their windows. Exact amounts are decimal strings. */
export type BudgetsTables = {
  budgets: {
    id: BudgetId
    organization_id: OrganizationId
    name: string
    scope_type: BudgetScopeType
    scope_id: string | null
    label_key: string | null
    label_value: string | null
    limit_type: BudgetLimitType
    limit_micros: string
    window: BudgetWindow
    thresholds: number[]
    action: BudgetAction
    minimum_run_seconds: number
    created_at: At
    revision: Generated<number>
    checked_at: Generated<Date>
    check_at: At
  }
  budget_windows: {
    budget_id: BudgetId
    starts_at: Date
    settled_through: Date
    settled: Generated<Readonly<Record<string, string>>>
    notified: Generated<number[]>
    exhausted_at: Date | null
  }
}
