/*
 * The columns of each table, as this version of the server knows them. Its statements name them, so a column that a
 * newer version adds changes no result of an older one that still runs. A test compares them with the migrations.
 */
const columns: Readonly<Record<string, string>> = {
  activity: `
    id organization_id machine_id position type actor_type actor_id actor_name session_id data
    occurred_at`,
  activity_positions: 'only_row last',
  api_keys: `
    id organization_id name prefix secret_hash scopes created_by created_at last_used_at
    expires_at revoked_at`,
  attempts: 'key count window_ends_at',
  audit_events: `
    id organization_id type actor_type actor_id actor_name address target_type target_id
    target_name outcome message occurred_at`,
  auth_sessions: `
    id user_id organization_id token_hash created_at last_used_at expires_at revoked_at address
    user_agent network`,
  billing_accounts: `
    organization_id state next_plan_id closed_through customer_id subscription_id
    subscription_plan_id subscription_ended_at checkout_id checkout_started_at
    checkout_claimed_until customer_read_at applied_reading past_due_since trial_ends_at
    plan_ends_at machines_stop_at standing_due_at`,
  billing_adjustments: 'id period_id amount_cents currency reason operator created_at',
  billing_lines: 'period_id meter position quantity included billable amount_cents currency',
  billing_notices: 'organization_id kind occasion given_at',
  billing_periods: `
    id organization_id starts_at ends_at plan_id catalog_version terms has_whole_allowance status
    closes_at closed_at invoice_state invoice_id invoice_attempts invoice_next_attempt_at
    invoice_error adjustments_cents compute_check_at compute_settled compute_settled_through`,
  budget_windows: 'budget_id starts_at settled_through settled notified exhausted_at',
  budgets: `
    id organization_id name scope_type scope_id label_key label_value limit_type limit_micros
    window thresholds action minimum_run_seconds created_at revision checked_at check_at`,
  capture_copies: 'id capture_id host state attempts next_attempt_at claimed_by claimed_until',
  captures: `
    id organization_id machine_id generation image_id disk_gb state size_bytes created_at
    completed_at error before_restore attempts next_attempt_at claimed_by claimed_until
    captured_by_type captured_by_id`,
  catalog_plans: `
    catalog_version id position name running_machines machines snapshots_per_machine templates
    members concurrent_sessions largest_size included_standard_hours included_hot_storage_bytes
    overage_allowed price_cents currency when_used_up`,
  catalog_prices: 'catalog_version item currency cents per_units',
  catalog_sizes: 'catalog_version id position cpu memory_mb disk_gb weight_milli',
  catalog_versions: 'version effective_at',
  duties: 'only_row host held_until',
  egress_counts: `
    flush_id machine_id organization_id bytes counted_at actor_type actor_id labels`,
  event_positions: 'only_row last',
  gateway_tokens: 'token_hash api_key_id auth_session_id expires_at',
  help_guests: 'id token_hash help_request_id',
  help_links: 'token_hash help_request_id',
  help_pictures: 'help_request_id moment image',
  help_requests: `
    id organization_id machine_id state reason message choices private assignee_id assignee_name
    requested_by_type requested_by_id requested_by_name taken_by_type taken_by_id taken_by_name
    session_id answer_text choice answered_by_type answered_by_id answered_by_name before brief
    is_mailed created_at taken_at ended_at expires_at`,
  host_health: 'only_row reason since',
  host_invitations: 'secret_hash host expires_at used_at',
  hosts: `
    name region state created_at seen_at boot_id total_bytes free_bytes memory_total_bytes
    memory_available_bytes images unhealthy_reason unhealthy_since peer_address peer_port
    peer_certificate`,
  idempotency_keys: 'id body_hash seed status sealed_response running_until created_at',
  images: `
    id recipe_hash name os description is_default metadata_path rootfs_path created_at fingerprint`,
  input_leases: 'machine_id fence session_id acquired_at expires_at since_fence',
  invitations: `
    id organization_id email role token_hash invited_by created_at expires_at accepted_at
    revoked_at`,
  login_links: 'token_hash user_id organization_id created_at expires_at used_at',
  machine_events: `
    id organization_id machine_id session_id type from_state to_state message sequence occurred_at
    facts position`,
  machine_secrets: 'machine_id name organization_id version revision sealed delivered_at',
  machines: `
    id organization_id name state os size image_id template_id cpu memory_mb disk_gb region
    metadata created_at started_at stopped_at deleted_at generation uid_slot wanted stop_by_force
    ready_at boots moves event_sequence attempts next_attempt_at claimed_by claimed_until
    last_error base_capture_id base_bytes restore_capture_id last_generation created_by_type
    created_by_id run_by_type run_by_id labels requested_id is_frozen host moved_from awaits_host`,
  mails: 'id recipient subject body created_at attempts next_attempt_at last_error',
  memberships: 'id organization_id user_id role created_at',
  meter_intervals: `
    id organization_id machine_id meter size capture_id bytes started_at ended_at actor_type
    actor_id labels`,
  organization_terms: 'organization_id effective_at terms',
  organizations: 'id name created_at deleted_at label_keys relabel_until',
  password_resets: 'token_hash user_id created_at expires_at used_at',
  pool_status: `
    only_row total_bytes free_bytes measured_at memory_total_bytes memory_available_bytes`,
  preview_cookies: 'token_hash preview_id auth_session_id expires_at',
  preview_hostnames: 'label given_at',
  preview_links: 'token_hash preview_id auth_session_id browser_hash expires_at',
  previews: `
    id organization_id machine_id port name access label secret_hash created_at last_request_at`,
  provider_events: 'id type customer_id received_at applied_at attempts next_attempt_at error',
  relocations: `
    machine_id from_host to_host phase capture_id earlier_capture_id moves phase_since`,
  secret_deliveries: `
    id revision delivered_revision delivered_run attempts next_attempt_at claimed_by claimed_until`,
  session_sockets: 'id session_id seen_at',
  sessions: `
    id organization_id machine_id type opened_by_type opened_by_id opened_by_name created_at
    last_active_at closed_at connected guest_name private`,
  snapshots: 'id organization_id machine_id capture_id name origin created_at deleted_at',
  templates: `
    id organization_id name description image_id size capture_id snapshot_id source_machine_id
    created_at warm`,
  uid_slots: 'slot machine_id',
  users: 'id email name created_at password_hash disabled_at deleted_at',
  warm_machines: `
    id state image_id base_capture_id size cpu memory_mb disk_gb uid_slot generation agent_build
    ready_at created_at attempts next_attempt_at claimed_by claimed_until host`,
  webhook_deliveries: `
    id webhook_id message_id type payload state attempts failures next_attempt_at last_status
    last_error created_at delivered_at`,
  webhooks: `
    id organization_id url types machine_id disabled_reason secret_sealed former_sealed
    former_until event_position activity_position failing_since created_at`,
}

const names = new Map(
  Object.entries(columns).map(([table, list]) => [table, list.trim().split(/\s+/)] as const),
)

/** The names of a table's columns; undefined for what is no table. */
export function columnsOf(table: string): readonly string[] | undefined {
  return names.get(table)
}

export const tables: readonly string[] = [...names.keys()]
