-- What was done with machines, for 30 days. Readers resume from positions, which are given after the commit.
create table activity (
  id text primary key,
  organization_id text not null references organizations,
  machine_id text not null references machines,
  position bigint,
  type text not null,
  actor_type text check (actor_type in ('user', 'api_key', 'guest', 'system')),
  actor_id text,
  actor_name text,
  session_id text,
  data jsonb not null,
  occurred_at timestamptz not null
);
create index activity_of_machine on activity (machine_id, id);
create index activity_to_place on activity (id) where position is null;
create index activity_placed on activity (organization_id, position);

create table activity_positions (
  only_row boolean primary key default true check (only_row),
  last bigint not null
);
insert into activity_positions (last) values (0);
