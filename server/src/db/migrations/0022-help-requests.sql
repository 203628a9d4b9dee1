-- Set for a guest's session, which is opened for whoever asked for help.
alter table sessions add column guest_name text;
-- While it holds the lease, nobody else may look at the screen.
alter table sessions add column private boolean not null default false;
-- Every machine has the row of its lease from its creation to its deletion.
insert into input_leases (machine_id, fence)
select id, 0 from machines where deleted_at is null
on conflict do nothing;

-- An agent asks a person to act on its machine.
create table help_requests (
  id text primary key,
  organization_id text not null references organizations,
  machine_id text not null references machines,
  state text not null default 'open'
    check (state in ('open', 'active', 'done', 'declined', 'cancelled', 'expired')),
  reason text not null,
  message text not null,
  choices text[],
  private boolean not null,
  assignee_id text references users,
  assignee_name text,
  requested_by_type text not null check (requested_by_type in ('user', 'api_key')),
  requested_by_id text not null,
  requested_by_name text not null,
  -- Who has it, or had it last.
  taken_by_type text check (taken_by_type in ('user', 'api_key', 'guest')),
  taken_by_id text,
  taken_by_name text,
  session_id text references sessions,
  answer_text text,
  choice text,
  answered_by_type text check (answered_by_type in ('user', 'api_key', 'guest')),
  answered_by_id text,
  answered_by_name text,
  -- What the machine looked like before it was taken for the first time.
  before jsonb,
  brief jsonb,
  is_mailed boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  taken_at timestamptz,
  ended_at timestamptz,
  expires_at timestamptz not null,
  check ((session_id is not null) = (state = 'active')),
  check ((ended_at is null) = (state in ('open', 'active')))
);
create index help_requests_of_organization on help_requests (organization_id, id);
create index help_requests_waiting on help_requests (machine_id) where state in ('open', 'active');
create index help_requests_ended on help_requests (ended_at) where ended_at is not null;

-- Unspent takeover links and the browsers that have spent one, by the hashes of their tokens.
create table help_links (
  token_hash bytea primary key,
  help_request_id text not null references help_requests on delete cascade
);
create index help_links_of on help_links (help_request_id);
create table help_guests (
  id text primary key,
  token_hash bytea not null unique,
  help_request_id text not null references help_requests on delete cascade
);
create index help_guests_of on help_guests (help_request_id);

-- The screen before and after, as WebP.
create table help_pictures (
  help_request_id text not null references help_requests on delete cascade,
  moment text not null check (moment in ('before', 'after')),
  image bytea not null,
  primary key (help_request_id, moment)
);
