-- Values for the environment of machines, sealed under keys that the database does not have.
create table machine_secrets (
  machine_id text not null references machines,
  name text collate "C" not null,
  organization_id text not null references organizations,
  version integer not null,
  -- Of the machine's set, when this version came into it.
  revision bigint not null,
  sealed bytea not null,
  delivered_at timestamptz(3),
  primary key (machine_id, name)
);
create index machine_secrets_of_organization on machine_secrets (organization_id, name, machine_id);

-- What a machine, whose id it has, was given of its set. One that never had a secret has no row.
create table secret_deliveries (
  id text primary key references machines,
  -- Higher with every change of the set.
  revision bigint not null,
  delivered_revision bigint not null default 0,
  -- The run of the machine that it was delivered to. Another one has forgotten it.
  delivered_run text,

  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  claimed_by text,
  claimed_until timestamptz
);
