-- What time does to an account that is due, on trial or canceled.
alter table billing_accounts
  -- Of a canceled account: the payment that was due is still missing.
  add column past_due_since timestamptz,
  add column trial_ends_at timestamptz,
  -- The sign-up plan follows then, unless the state changes before. Null in a trial that a payment provider
  -- ends.
  add column plan_ends_at timestamptz,
  -- What then runs beyond the limits of the plan is stopped.
  add column machines_stop_at timestamptz,
  -- When the worker has something to do for the account. Null: nothing, until its state changes.
  add column standing_due_at timestamptz,
  add check (state <> 'past_due' or past_due_since is not null),
  add check (state in ('past_due', 'canceled') or past_due_since is null),
  add check (state = 'trialing' or trial_ends_at is null),
  add check (state in ('trialing', 'canceled') or plan_ends_at is null),
  add check (state <> 'canceled' or plan_ends_at is not null);
create index billing_accounts_due on billing_accounts (standing_due_at);

-- Notices to the owners. Each is given once for its occasion, the time that it is about.
create table billing_notices (
  organization_id text not null references organizations,
  kind text not null check (
    kind in ('past_due', 'starting_refused', 'trial_ending', 'machines_stop', 'machines_stopped')
  ),
  occasion timestamptz not null,
  given_at timestamptz not null default now(),
  primary key (organization_id, kind, occasion)
);

-- Corrections by an operator. Negative: a credit.
create table billing_adjustments (
  id bigint generated always as identity primary key,
  period_id bigint not null references billing_periods,
  amount_cents bigint not null check (amount_cents <> 0),
  currency text not null,
  reason text not null,
  operator text not null,
  created_at timestamptz not null default clock_timestamp()
);
create index billing_adjustments_of_period on billing_adjustments (period_id);

-- The lock on the period makes its end wait, or this insert find that it has ended.
create function guard_billing_adjustments() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    raise exception 'billing adjustments are never changed';
  end if;
  perform from billing_periods where id = new.period_id and status = 'open' for share;
  if not found then
    raise exception 'billing period % is not open', new.period_id;
  end if;
  return new;
end
$$;
create trigger guard_billing_adjustments before insert or update or delete on billing_adjustments
  for each row execute function guard_billing_adjustments();

-- What the adjustments came to when the period became final, and when the worker looks whether the included
-- compute is used up, of a plan that stops machines then.
alter table billing_periods
  add column adjustments_cents numeric(40),
  add column compute_check_at timestamptz;
update billing_periods set adjustments_cents = 0 where status = 'final';
create index billing_periods_to_check on billing_periods (compute_check_at) where status = 'open';

-- What a plan without overage does when its included compute is used up: allow more at no cost, refuse to
-- start machines, or also stop those that run.
alter table catalog_plans
  add column when_used_up text not null default 'allow' check (
    when_used_up in ('allow', 'refuse', 'stop')
  ),
  add check (when_used_up = 'allow' or not overage_allowed);
