-- Why the host of the engine is unhealthy. Without a row it is healthy.
create table host_health (
  only_row boolean primary key default true check (only_row),
  reason text not null,
  since timestamptz not null default now()
);
