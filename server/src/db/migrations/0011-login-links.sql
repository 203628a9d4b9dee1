-- Links that an operator prints on the server. Each signs one user in, once.
create table login_links (
  token_hash bytea primary key,
  user_id text not null references users,
  -- The organization in which the session acts.
  organization_id text not null references organizations,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index login_links_of_user on login_links (user_id);
