-- The catalog: versioned and effective-dated rows. Prices and limits live here alone.
create table catalog_versions (
  version integer primary key,
  effective_at timestamptz not null
);

create table catalog_sizes (
  catalog_version integer not null references catalog_versions,
  id text not null check (id in ('small', 'standard', 'large')),
  position integer not null,
  cpu integer not null,
  memory_mb integer not null,
  disk_gb integer not null,
  weight_milli integer not null,
  primary key (catalog_version, id)
);

-- A null entitlement is negotiated: an organization's own override supplies the number.
create table catalog_plans (
  catalog_version integer not null references catalog_versions,
  id text not null,
  position integer not null,
  name text not null,
  running_machines integer,
  machines integer,
  snapshots_per_machine integer,
  templates integer,
  members integer,
  concurrent_sessions integer,
  largest_size text,
  included_standard_hours integer,
  included_hot_storage_bytes bigint,
  overage_allowed boolean not null,
  price_cents integer,
  currency text not null,
  primary key (catalog_version, id)
);

insert into catalog_versions values (1, '2026-01-01T00:00:00Z');

insert into catalog_sizes values
  (1, 'small', 1, 2, 4096, 10, 500),
  (1, 'standard', 2, 4, 8192, 25, 1000),
  (1, 'large', 3, 8, 16384, 50, 2000);

insert into catalog_plans values
  (1, 'free', 1, 'Free', 1, 1, 2, 1, 2, 2, 'small', 5, 10737418240, false, 0, 'usd'),
  (1, 'developer', 2, 'Developer', 3, 5, 10, 5, 5, 10, 'standard', 120, 80530636800, true, 2000, 'usd'),
  (1, 'pro', 3, 'Pro', 10, 20, 25, 25, 25, 40, 'large', 400, 214748364800, true, 8000, 'usd'),
  (1, 'startup', 4, 'Startup', 30, 100, 50, 100, 100, 120, 'large', 2000, 1099511627776, true, 40000, 'usd'),
  (1, 'enterprise', 5, 'Enterprise', null, null, null, null, null, null, null, null, null, true, null, 'usd');

create table organizations (
  id text primary key,
  name text not null,
  plan_id text not null,
  -- Numbers for entitlements the plan leaves to negotiation, by their catalog column.
  limit_overrides jsonb not null default '{}',
  created_at timestamptz not null default now()
);

create table users (
  id text primary key,
  email text not null unique,
  name text not null,
  created_at timestamptz not null default now()
);

create table memberships (
  id text primary key,
  organization_id text not null references organizations,
  user_id text not null references users,
  role text not null check (role in ('owner', 'admin', 'member')),
  created_at timestamptz not null default now(),
  unique (organization_id, user_id)
);

create table api_keys (
  id text primary key,
  organization_id text not null references organizations,
  name text not null,
  prefix text not null,
  secret_hash bytea not null unique,
  scopes text[] not null,
  created_by text not null references users,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz
);
create index api_keys_of_organization on api_keys (organization_id, id desc);

create table images (
  id text primary key,
  recipe_hash text not null unique,
  name text not null,
  os text not null,
  description text not null,
  is_default boolean not null,
  metadata_path text not null,
  rootfs_path text not null,
  created_at timestamptz not null default now()
);
create unique index one_default_image on images (is_default) where is_default;

create table machines (
  id text primary key,
  organization_id text not null references organizations,
  name text not null,
  state text not null check (
    state in ('creating', 'running', 'stopping', 'stopped', 'starting', 'error', 'deleting')
  ),
  os text not null,
  size text not null,
  image_id text not null references images,
  template_id text,
  cpu integer not null,
  memory_mb integer not null,
  disk_gb integer not null,
  region text not null,
  metadata jsonb not null,
  created_at timestamptz not null default now(),
  -- To the millisecond, as clients see them.
  started_at timestamptz(3),
  stopped_at timestamptz(3),
  deleted_at timestamptz,

  -- What the reconciler needs and no answer shows.
  generation integer not null default 1,
  -- The machine's host uids are uid_slot * 65536 and the 65,535 after it, from the configured base.
  uid_slot integer not null,
  wanted text not null check (wanted in ('running', 'stopped')),
  stop_by_force boolean not null default false,
  ready_at timestamptz,
  -- Counts starts: a channel to the guest belongs to one of them.
  boots integer not null default 0,
  -- Counts changes of state: what was read is still so if this is.
  moves integer not null default 0,
  event_sequence integer not null default 0,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  claimed_by text,
  claimed_until timestamptz,
  last_error text
);
create unique index machine_names on machines (organization_id, name) where deleted_at is null;
create unique index machine_uids on machines (uid_slot) where deleted_at is null;
create index machines_of_organization on machines (organization_id, id desc) where deleted_at is null;
create index machines_at_work on machines (next_attempt_at)
  where deleted_at is null and state in ('creating', 'stopping', 'starting', 'deleting');
create index machines_booting on machines (next_attempt_at)
  where deleted_at is null and state = 'running' and ready_at is null;

-- One row for each range of host uids; a machine owns one until its disk is gone.
create table uid_slots (
  slot integer primary key,
  machine_id text unique references machines
);
insert into uid_slots select slot, null from generate_series(0, 15257) slot;
create index free_uid_slots on uid_slots (slot) where machine_id is null;

create table sessions (
  id text primary key,
  organization_id text not null references organizations,
  machine_id text not null references machines,
  type text not null check (type in ('agent', 'human', 'view')),
  opened_by_type text not null check (opened_by_type in ('user', 'api_key')),
  opened_by_id text not null,
  opened_by_name text not null,
  created_at timestamptz not null default now(),
  last_active_at timestamptz not null default now(),
  closed_at timestamptz
);
create index sessions_of_organization on sessions (organization_id, id desc);
create index open_sessions on sessions (last_active_at) where closed_at is null;
create index sessions_of_machine on sessions (machine_id) where closed_at is null;

create table input_leases (
  machine_id text primary key references machines,
  fence bigint not null,
  session_id text references sessions,
  acquired_at timestamptz,
  expires_at timestamptz
);

create index held_leases on input_leases (expires_at) where session_id is not null;

create table machine_events (
  id text primary key,
  organization_id text not null references organizations,
  machine_id text not null references machines,
  session_id text,
  type text not null,
  from_state text,
  to_state text,
  message text,
  sequence integer not null,
  occurred_at timestamptz not null default clock_timestamp(),
  unique (machine_id, sequence)
);

create table idempotency_keys (
  -- SHA-256 of organization, caller, route and key: the key itself is not kept.
  id bytea primary key,
  body_hash bytea not null,
  -- The ULID that whatever the call creates is named by, so that a second run finds the first's.
  seed text not null,
  -- The answer, sealed under the caller's own credential and key; null while the call runs.
  status integer,
  sealed_response bytea,
  running_until timestamptz not null,
  created_at timestamptz not null default now()
);
create index idempotency_keys_by_age on idempotency_keys (created_at);
