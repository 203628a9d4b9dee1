-- Where the present holding of the lease began: every fence from there on was granted to one session
-- without interruption. Where nobody holds it, the release.
alter table input_leases add column since_fence bigint not null default 0;
update input_leases set since_fence = fence;

-- Whether the last that the log says of the session is session.connected.
alter table sessions add column connected boolean not null default true;

-- Each socket that a session has open at some gateway. Its gateway says again and again that it is
-- there; what a gateway leaves behind that was killed is seen no more.
create table session_sockets (
  id uuid primary key default gen_random_uuid(),
  session_id text not null references sessions,
  seen_at timestamptz not null default now()
);
create index session_sockets_of_session on session_sockets (session_id);
create index session_sockets_by_age on session_sockets (seen_at);
