-- Who caused usage, and the labels it had. An actor is a user or an API key; null: it was not recorded.

-- Who created a machine is who its disk counts for. Who set it running is who its compute and the bytes
-- that it serves count for. Labels are the part of its metadata that the organization counts usage by.
alter table machines
  add column created_by_type text check (created_by_type in ('user', 'api_key')),
  add column created_by_id text,
  add column run_by_type text check (run_by_type in ('user', 'api_key')),
  add column run_by_id text,
  add column labels jsonb not null default '{}';

alter table captures
  add column captured_by_type text check (captured_by_type in ('user', 'api_key')),
  add column captured_by_id text;

-- The keys of metadata that usage is counted by. After a change, machines that exist get their labels; until
-- relabel_until, a transaction that began before the change may still store labels of the keys before.
alter table organizations
  add column label_keys text[] not null default '{}' check (cardinality(label_keys) <= 5),
  add column relabel_until timestamptz;
create index organizations_to_relabel on organizations (relabel_until)
  where relabel_until is not null;

alter table meter_intervals
  add column actor_type text check (actor_type in ('user', 'api_key')),
  add column actor_id text,
  add column labels jsonb not null default '{}';

alter table egress_counts
  add column actor_type text check (actor_type in ('user', 'api_key')),
  add column actor_id text,
  add column labels jsonb not null default '{}';
