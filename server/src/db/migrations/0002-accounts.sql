alter table users
  -- Null: an account that signs in with no password, such as the first owner's until it has one.
  add column password_hash text,
  add column disabled_at timestamptz;

-- The oldest one of a user is that of their personal organization.
create index memberships_of_user on memberships (user_id, id);

create table auth_sessions (
  id text primary key,
  user_id text not null references users,
  -- The organization it acts in.
  organization_id text not null references organizations,
  token_hash bytea not null unique,
  created_at timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz,
  address text,
  user_agent text
);
create index auth_sessions_of_user on auth_sessions (user_id, id desc) where revoked_at is null;

-- Counters of what may be tried so often in a window. The subject is kept as a hash.
create table attempts (
  key bytea primary key,
  count integer not null,
  window_ends_at timestamptz not null
);

create table password_resets (
  token_hash bytea primary key,
  user_id text not null references users,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index password_resets_of_user on password_resets (user_id);

create table invitations (
  id text primary key,
  organization_id text not null references organizations,
  email text not null,
  role text not null check (role in ('owner', 'admin', 'member')),
  token_hash bytea not null unique,
  invited_by text not null references users,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  accepted_at timestamptz,
  revoked_at timestamptz
);
create index invitations_of_organization on invitations (organization_id, id desc);

-- Mail that is still to be sent. A row goes when its mail is handed over, and with it what it says.
create table mails (
  id text primary key,
  recipient text not null,
  subject text not null,
  body text not null,
  created_at timestamptz not null default now(),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  last_error text
);
create index mails_due on mails (next_attempt_at);

create table audit_events (
  id text primary key,
  organization_id text not null references organizations,
  type text not null,
  actor_type text check (actor_type in ('user', 'api_key', 'operator')),
  actor_id text,
  actor_name text,
  address text,
  target_type text,
  target_id text,
  target_name text,
  outcome text not null check (outcome in ('succeeded', 'denied', 'failed')),
  message text,
  occurred_at timestamptz not null default clock_timestamp()
);
create index audit_events_of_organization on audit_events (organization_id, id desc);
