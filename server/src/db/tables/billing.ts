import type { OrganizationId } from '@computer/contract'
import type { Generated } from 'kysely'
import type { At } from './at.ts'

/** What an organization agreed on beside its plan, by column of the catalog. */
export type Terms = Record<string, number | string>

/** Accounts, their periods and what those cost. Exact amounts are decimal strings. */
export type BillingTables = {
  billing_accounts: {
    organization_id: OrganizationId
    state: Generated<'trialing' | 'active' | 'past_due' | 'canceled'>
    next_plan_id: string | null
    closed_through: Date
    past_due_since: Generated<Date | null>
    trial_ends_at: Generated<Date | null>
    plan_ends_at: Generated<Date | null>
    machines_stop_at: Generated<Date | null>
    standing_due_at: Generated<Date | null>
    customer_id: Generated<string | null>
    subscription_id: Generated<string | null>
    subscription_plan_id: Generated<string | null>
    subscription_ended_at: Generated<Date | null>
    checkout_id: Generated<string | null>
    checkout_started_at: Generated<Date | null>
    checkout_claimed_until: Generated<Date | null>
    customer_read_at: Generated<Date | null>
    applied_reading: Generated<number>
  }
  billing_notices: {
    organization_id: OrganizationId
    kind: 'past_due' | 'starting_refused' | 'trial_ending' | 'machines_stop' | 'machines_stopped'
    /** The time that the notice is about. */
    occasion: Date
    given_at: At
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
    adjustments_cents: Generated<string | null>
    compute_check_at: Generated<Date | null>
    /** Seconds by meter. */
    compute_settled: Generated<Record<string, string>>
    compute_settled_through: Generated<Date | null>
    invoice_state: Generated<'none' | 'due' | 'drafted' | 'filled' | 'sent' | null>
    invoice_id: Generated<string | null>
    invoice_attempts: Generated<number>
    invoice_next_attempt_at: Generated<Date | null>
    invoice_error: Generated<string | null>
  }
  billing_adjustments: {
    id: Generated<number>
    period_id: number
    amount_cents: number
    currency: string
    reason: string
    operator: string
    created_at: At
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
  provider_events: {
    id: string
    type: string
    customer_id: string
    received_at: Generated<Date>
    applied_at: Generated<Date | null>
    attempts: Generated<number>
    next_attempt_at: Generated<Date>
    error: Generated<string | null>
  }
}
