-- A copy of a machine's disk. It depends on no machine; it goes when no row names it any more.
create table captures (
  id text primary key,
  organization_id text not null references organizations,
  machine_id text not null references machines,
  generation integer not null,
  image_id text not null references images,
  disk_gb integer not null,
  state text not null check (state in ('pending', 'ready', 'error', 'deleting')),
  -- What it holds beyond the image.
  size_bytes bigint,
  created_at timestamptz not null default now(),
  completed_at timestamptz(3),
  error text,
  -- The disk of before a restore, which goes on when it is safe.
  before_restore boolean not null default false,

  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  claimed_by text,
  claimed_until timestamptz
);
create index captures_pending on captures (machine_id, created_at) where state = 'pending';
create index captures_deleting on captures (next_attempt_at) where state = 'deleting';

-- A snapshot's state is its capture's, until it is being deleted.
create table snapshots (
  id text primary key,
  organization_id text not null references organizations,
  machine_id text not null references machines,
  capture_id text not null references captures,
  name text not null,
  origin text not null check (origin in ('manual', 'stop', 'template')),
  created_at timestamptz not null default now(),
  deleted_at timestamptz
);
create index snapshots_of_organization on snapshots (organization_id, id desc);
create index snapshots_of_machine on snapshots (machine_id, created_at desc);
create index snapshots_of_capture on snapshots (capture_id);

-- A template's state is its capture's; one without a capture is an image and a size.
create table templates (
  id text primary key,
  organization_id text not null references organizations,
  name text not null,
  description text not null,
  image_id text not null references images,
  size text not null,
  capture_id text references captures,
  snapshot_id text references snapshots on delete set null,
  source_machine_id text references machines,
  created_at timestamptz not null default now(),
  unique (organization_id, name)
);
create index templates_of_organization on templates (organization_id, id desc);
create index templates_of_capture on templates (capture_id);
create index templates_of_snapshot on templates (snapshot_id);

alter table machines
  -- What the disk is made from, until it is made; null: the image.
  add column base_capture_id text references captures,
  -- What the disk began with beyond the image.
  add column base_bytes bigint not null default 0,
  -- A restore that is under way: the disk is to become this capture.
  add column restore_capture_id text references captures,
  -- The highest that was ever given out. A restore takes the next, and one that fails uses it up: no
  -- disk in the engine is ever mistaken for another.
  add column last_generation integer not null default 1;
create index machines_on_capture on machines (base_capture_id) where base_capture_id is not null;
create index machines_restoring on machines (restore_capture_id)
  where restore_capture_id is not null;

-- What the meters need to be computed from the log alone: size, disk and captured bytes at the time.
alter table machine_events add column facts jsonb;

-- Usage is the sum of these, cut to the asked window. Opened and closed with the change they follow.
create table meter_intervals (
  id bigint generated always as identity primary key,
  organization_id text not null references organizations,
  machine_id text not null references machines,
  meter text not null check (meter in ('compute', 'hot_storage', 'cold_storage')),
  size text,
  capture_id text,
  bytes bigint,
  started_at timestamptz not null,
  ended_at timestamptz
);
create unique index open_machine_interval on meter_intervals (machine_id, meter)
  where ended_at is null and capture_id is null;
create unique index open_capture_interval on meter_intervals (capture_id)
  where ended_at is null;
create index meter_intervals_of_organization on meter_intervals (organization_id, started_at);

-- What the worker last saw of the pool, so that the api can refuse what would not fit.
create table pool_status (
  only_row boolean primary key default true check (only_row),
  total_bytes bigint not null,
  free_bytes bigint not null,
  measured_at timestamptz not null default now()
);
