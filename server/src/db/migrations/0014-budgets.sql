-- Budgets: how much a part of an organization's use may be in a window of time.
create table budgets (
  id text primary key,
  organization_id text not null references organizations,
  name text not null,
  scope_type text not null check (scope_type in ('organization', 'api_key', 'machine', 'label')),
  -- The key or the machine.
  scope_id text check ((scope_id is not null) = (scope_type in ('api_key', 'machine'))),
  label_key text check ((label_key is not null) = (scope_type = 'label')),
  label_value text check ((label_value is not null) = (scope_type = 'label')),
  limit_type text not null check (limit_type in ('list_price_cents', 'standard_hours')),
  -- Millionths of a cent, or of a standard-hour.
  limit_micros numeric(20) not null check (limit_micros > 0),
  "window" text not null check ("window" in ('day', 'week', 'month', 'once')),
  thresholds integer[] not null,
  action text not null check (action in ('notify', 'refuse', 'stop')),
  minimum_run_seconds integer not null check (minimum_run_seconds > 0),
  -- In milliseconds, because the window of a budget of `once` begins with it.
  created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  -- Changes count revisions, so that a check of an earlier one does not postpone the next check.
  revision integer not null default 0,
  checked_at timestamptz not null default '-infinity',
  check_at timestamptz not null default clock_timestamp(),
  unique (organization_id, name)
);
create index budgets_to_check on budgets (check_at);

-- What is known of a window of a budget. A window without a row has everything still to count.
create table budget_windows (
  budget_id text not null references budgets on delete cascade,
  starts_at timestamptz not null,
  -- What was used from the start of the window until settled_through can no longer change. The keys are
  -- "catalog_version currency item size", the values decimal strings.
  settled_through timestamptz not null,
  settled jsonb not null default '{}',
  -- The thresholds whose mail was sent.
  notified integer[] not null default '{}',
  exhausted_at timestamptz,
  primary key (budget_id, starts_at)
);
