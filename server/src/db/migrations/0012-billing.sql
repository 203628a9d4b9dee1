-- Prices of what is used, as exact fractions: `cents` for every `per_units` units of an item. Null cents:
-- not priced. Compute has one price, for a thousandth of a standard-second; sizes are weighted.
create table catalog_prices (
  catalog_version integer not null references catalog_versions,
  item text not null check (item in ('compute', 'hot_storage', 'cold_storage', 'egress')),
  currency text not null,
  cents integer check (cents >= 0),
  per_units numeric(40) not null check (per_units > 0),
  primary key (catalog_version, item, currency)
);

-- Of a standard-hour, of a gibibyte for 30 days, and of a gibibyte.
insert into catalog_prices values
  (1, 'compute', 'usd', 10, 3600000),
  (1, 'hot_storage', 'usd', 10, 2783138807808000),
  (1, 'cold_storage', 'usd', 5, 2783138807808000),
  (1, 'egress', 'usd', 5, 1073741824);

create table billing_accounts (
  organization_id text primary key references organizations,
  state text not null default 'active' check (
    state in ('trialing', 'active', 'past_due', 'canceled')
  ),
  -- A change to a lower plan, which waits for the end of the period.
  next_plan_id text,
  -- What happened before this is counted: later events and bytes get at least this time.
  closed_through timestamptz not null
);

-- Limits and allowances agreed with an organization, by their column of the catalog. The newest whose time
-- has come when a period begins are those of the period.
create table organization_terms (
  organization_id text not null references organizations,
  effective_at timestamptz not null,
  terms jsonb not null,
  primary key (organization_id, effective_at)
);

-- Each begins where the one before it ended. The plan, the version of the catalog and the terms in a row
-- are those that its usage is priced under, however they change later.
create table billing_periods (
  id bigint generated always as identity primary key,
  organization_id text not null references organizations,
  starts_at timestamptz not null,
  ends_at timestamptz not null check (ends_at > starts_at),
  plan_id text not null,
  catalog_version integer not null,
  terms jsonb not null default '{}',
  -- An organization's first period has the whole allowance of compute, others their share of the month.
  has_whole_allowance boolean not null,
  -- closing: it is over, and its last events and bytes may still be on their way.
  status text not null check (status in ('open', 'closing', 'final')),
  closes_at timestamptz,
  closed_at timestamptz,
  unique (organization_id, starts_at),
  foreign key (catalog_version, plan_id) references catalog_plans (catalog_version, id),
  check (starts_at = date_trunc('hour', starts_at, 'UTC')),
  check (ends_at = date_trunc('hour', ends_at, 'UTC')),
  check ((status = 'open') = (closes_at is null)),
  check ((status = 'final') = (closed_at is not null))
);
create unique index open_billing_period on billing_periods (organization_id) where status = 'open';
create index billing_periods_to_end on billing_periods (ends_at) where status = 'open';
create index billing_periods_to_close on billing_periods (closes_at) where status = 'closing';

-- The lines of a final period.
create table billing_lines (
  period_id bigint not null references billing_periods,
  meter text not null,
  position integer not null,
  quantity numeric(40) not null,
  included numeric(40) not null,
  billable numeric(40) not null,
  amount_cents numeric(40) not null,
  currency text not null,
  primary key (period_id, meter),
  check (included + billable = quantity)
);

-- Finds what was used in a period without what ended before it.
create index meter_intervals_by_end on meter_intervals (organization_id, ended_at);

-- Every organization gets an account, and an open period since the first of the month.
insert into billing_accounts (organization_id, closed_through)
select id, date_trunc('month', now(), 'UTC') from organizations;

insert into billing_periods
  (organization_id, starts_at, ends_at, plan_id, catalog_version, terms, has_whole_allowance, status)
select o.id, greatest(month.start, date_trunc('hour', o.created_at, 'UTC')),
  date_trunc('month', month.start + interval '40 days', 'UTC'),
  o.plan_id, catalog.version, o.limit_overrides, true, 'open'
from organizations o,
  (select date_trunc('month', now(), 'UTC') as start) month,
  (select max(version) as version from catalog_versions where effective_at <= now()) catalog;

insert into organization_terms (organization_id, effective_at, terms)
select organization_id, starts_at, terms from billing_periods where terms <> '{}';

alter table organizations drop column plan_id, drop column limit_overrides;
