-- Addresses to which events and activity are sent.
create table webhooks (
  id text primary key,
  organization_id text not null references organizations,
  url text not null,
  -- Null: all.
  types text[],
  machine_id text references machines,
  disabled_reason text check (disabled_reason in ('user', 'gone', 'failing')),
  -- Encrypted by the keyring. The former one signs too until a time after a rotation, and is erased then.
  secret_sealed bytea not null,
  former_sealed bytea,
  former_until timestamptz,
  -- What was placed up to here has its deliveries.
  event_position bigint not null,
  activity_position bigint not null,
  failing_since timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  check ((former_sealed is null) = (former_until is null))
);
create index webhooks_of_organization on webhooks (organization_id, id);

-- One message for one webhook. Its payload is what was true at that moment.
create table webhook_deliveries (
  id text primary key,
  webhook_id text not null references webhooks on delete cascade,
  -- The id of the event or of the activity.
  message_id text not null,
  type text not null,
  payload text not null,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
  attempts integer not null default 0,
  -- Failures in a row, which a retry by hand begins again.
  failures integer not null default 0,
  -- While an attempt runs, the end of its claim.
  next_attempt_at timestamptz default clock_timestamp(),
  last_status integer,
  last_error text,
  created_at timestamptz not null default clock_timestamp(),
  delivered_at timestamptz,
  unique (webhook_id, message_id),
  check ((next_attempt_at is not null) = (state = 'pending'))
);
create index webhook_deliveries_due on webhook_deliveries (webhook_id, next_attempt_at) where state = 'pending';
create index webhook_deliveries_of on webhook_deliveries (webhook_id, id);
