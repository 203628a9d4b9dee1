import type { OrganizationId } from '@computer/contract'
import type { Generated } from 'kysely'

/** What an organization agreed on beside its plan, by column of the catalog. */
export type Terms = Record<string, number | string>

/** Accounts, their periods and what those cost. Exact amounts are decimal strings. */
export type BillingTables = {
  billing_accounts: {
    organization_id: OrganizationId
    state: Generated<'trialing' | 'active' | 'past_due' | 'canceled'>
    next_plan_id: string | null
    closed_through: Date
  }
  organization_terms: { organization_id: OrganizationId; effective_at: Date; terms: Terms }
  billing_periods: {
    id: Generated<number>
    organization_id: OrganizationId
    starts_at: Date
    ends_at: Date
    plan_id: string
    catalog_version: number
    terms: Generated<Terms>
    has_whole_allowance: boolean
    status: 'open' | 'closing' | 'final'
    closes_at: Date | null
    closed_at: Date | null
  }
  billing_lines: {
    period_id: number
    meter: string
    position: number
    quantity: string
    included: string
    billable: string
    amount_cents: string
    currency: string
  }
}
