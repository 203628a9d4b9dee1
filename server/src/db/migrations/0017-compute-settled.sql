-- The compute of an open period that can no longer change, until compute_settled_through: seconds by
-- meter, as decimal strings.
alter table billing_periods
  add column compute_settled jsonb not null default '{}',
  add column compute_settled_through timestamptz;

-- The worker settles the compute of every plan that does not allow more than it includes.
update billing_periods as b set compute_check_at = b.starts_at
  from catalog_plans as p
  where p.catalog_version = b.catalog_version and p.id = b.plan_id
    and b.status = 'open' and p.when_used_up = 'refuse' and b.compute_check_at is null;
