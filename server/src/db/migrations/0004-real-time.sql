-- Where an event stands among all events, in the order of their commits; given after the commit.
alter table machine_events add column position bigint;
create unique index machine_events_by_position on machine_events (organization_id, position)
  where position is not null;
create index machine_events_unplaced on machine_events (occurred_at, machine_id, sequence)
  where position is null;

-- The last position given. Whoever gives the next ones holds this row.
create table event_positions (
  only_row boolean primary key default true check (only_row),
  last bigint not null
);
insert into event_positions (last) values (0);

-- For one connection to the gateway. What its principal may do is looked up when it is used.
create table gateway_tokens (
  token_hash bytea primary key,
  api_key_id text references api_keys,
  auth_session_id text references auth_sessions,
  expires_at timestamptz not null,
  check ((api_key_id is null) <> (auth_session_id is null))
);
create index gateway_tokens_by_age on gateway_tokens (expires_at);
