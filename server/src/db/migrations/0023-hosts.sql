-- The hosts that run machines. Each has an engine and a worker of its own, and its worker writes what it sees there.
create table hosts (
  name text primary key,
  region text not null,
  -- Only a ready host gets new machines. The row of one that was removed stays, because deleted machines name it.
  state text not null default 'ready'
    check (state in ('ready', 'draining', 'drained', 'removed', 'lost')),
  created_at timestamptz not null default now(),
  -- The last sign of life of its worker; null before the first.
  seen_at timestamptz,
  boot_id text,
  -- The pool and the memory, as last measured. Null until then.
  total_bytes bigint,
  free_bytes bigint,
  memory_total_bytes bigint,
  memory_available_bytes bigint,
  -- The images that are unpacked in its pool.
  images text[] not null default '{}',
  -- Null while it is healthy.
  unhealthy_reason text,
  unhealthy_since timestamptz,
  -- Where its worker listens for processes of other hosts, and the certificate of the listener. Null: nowhere.
  peer_address text,
  peer_port integer,
  peer_certificate text
);

-- The host of a server that has only one.
insert into hosts (name, region, total_bytes, free_bytes, memory_total_bytes, memory_available_bytes)
  select 'local', 'local', total_bytes, free_bytes, memory_total_bytes, memory_available_bytes
  from (select true) as one left join pool_status on true;

-- The processes of the version before go on while they are replaced one by one: they write rows without a host, and
-- they read pool_status and write host_health, which a later version drops.
alter table machines add column host text not null default 'local' references hosts;
create index machines_of_host on machines (host, state) include (memory_mb) where deleted_at is null;
-- The digest of the image's files, which are the same on every host. Null for one that was registered before.
alter table images add column fingerprint text;

-- The host that still has the disk of a machine whose next disk is being made on another one.
alter table machines add column moved_from text references hosts;
-- It ran when its host fell silent, and starts again once the host is back.
alter table machines add column awaits_host boolean not null default false;
alter table warm_machines add column host text not null default 'local' references hosts;

-- The hosts that have a copy of a capture, have yet to remove it, or are to get one from another host.
create table capture_copies (
  id text generated always as (capture_id || ' ' || host) stored primary key,
  capture_id text not null references captures on delete cascade,
  host text not null references hosts,
  state text not null default 'ready' check (state in ('wanted', 'ready')),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  claimed_by text,
  claimed_until timestamptz,
  unique (capture_id, host)
);
create index copies_of_host on capture_copies (host, state);
insert into capture_copies (capture_id, host) select id, 'local' from captures;

-- Machines on their way to another host.
create table relocations (
  machine_id text primary key references machines on delete cascade,
  from_host text not null references hosts,
  to_host text not null references hosts,
  phase text not null check (phase in ('copying', 'stopping', 'sending', 'switching', 'moved', 'failed')),
  -- The copy that is sent, first while the machine runs.
  capture_id text references captures,
  -- The copy that was sent before.
  earlier_capture_id text references captures,
  -- The machine's count of moves when the copy was requested.
  moves integer not null,
  phase_since timestamptz not null default now()
);
create index relocations_from on relocations (from_host);

-- Tokens with which new hosts join, by the digest of their secret.
create table host_invitations (
  secret_hash bytea primary key,
  host text not null,
  expires_at timestamptz not null,
  used_at timestamptz
);

-- The host whose worker does what one worker does for all, until then or for as long as it renews this.
create table duties (
  only_row boolean primary key default true check (only_row),
  host text references hosts,
  held_until timestamptz not null default now()
);
insert into duties default values;
