-- Every name that a preview ever had. Nothing is deleted from it and it refers to nothing, so that no
-- name is given twice, whatever else goes.
create table preview_hostnames (
  label text primary key,
  given_at timestamptz not null default now()
);

create table previews (
  id text primary key,
  organization_id text not null references organizations,
  machine_id text not null references machines,
  port integer not null check (port between 1 and 65535),
  name text,
  access text not null check (access in ('private', 'public')),
  label text not null unique references preview_hostnames,
  -- A public one needs none.
  secret_hash bytea check ((secret_hash is null) = (access = 'public')),
  created_at timestamptz not null default now(),
  last_request_at timestamptz,
  unique (machine_id, port)
);
create index previews_of_organization on previews (organization_id, id desc);

-- For one visit: the link of the answer that published the port, or a member's way through the service.
create table preview_links (
  token_hash bytea primary key,
  preview_id text not null references previews on delete cascade,
  -- A member's sign-in, and the browser that was sent to fetch the link.
  auth_session_id text references auth_sessions on delete cascade,
  browser_hash bytea,
  expires_at timestamptz not null
);
create index preview_links_of_preview on preview_links (preview_id);
create index preview_links_by_age on preview_links (expires_at);

-- What a link was changed into. A member's is good for as long as the sign-in and the membership.
create table preview_cookies (
  token_hash bytea primary key,
  preview_id text not null references previews on delete cascade,
  auth_session_id text references auth_sessions on delete cascade,
  expires_at timestamptz not null
);
create index preview_cookies_of_preview on preview_cookies (preview_id);
create index preview_cookies_by_age on preview_cookies (expires_at);

-- Bytes that machines sent to the outside. A batch that may have been written already is written
-- again under the same flush_id, and counts once.
create table egress_counts (
  flush_id text not null,
  machine_id text not null references machines,
  organization_id text not null references organizations,
  bytes bigint not null check (bytes > 0),
  counted_at timestamptz not null default now(),
  primary key (flush_id, machine_id)
);
create index egress_of_organization on egress_counts (organization_id, counted_at);
