-- What a payment provider knows of an organization: its customer, the subscription that counts, and the
-- plan of it that was applied last. An operator may give another plan meanwhile.
alter table billing_accounts
  add column customer_id text unique,
  add column subscription_id text,
  add column subscription_plan_id text,
  add column subscription_ended_at timestamptz,
  -- The page on which a purchase was begun, which is made unusable before there is another one.
  add column checkout_id text,
  add column checkout_started_at timestamptz,
  -- A change of the subscription is under way, so that there are never two.
  add column checkout_claimed_until timestamptz,
  -- When the customer was read last, and the number of the newest reading that was applied.
  add column customer_read_at timestamptz,
  add column applied_reading bigint not null default 0;
create sequence customer_readings;
create index billing_accounts_to_read on billing_accounts (customer_read_at)
  where customer_id is not null;

-- due, drafted, filled, sent: the steps by which what is due for a final period is collected. none, and
-- null in periods that became final before there was a provider: nothing is.
alter table billing_periods
  add column invoice_state text check (
    invoice_state in ('none', 'due', 'drafted', 'filled', 'sent')
  ),
  add column invoice_id text,
  add column invoice_attempts integer not null default 0,
  add column invoice_next_attempt_at timestamptz,
  add column invoice_error text;
create index billing_periods_to_invoice on billing_periods (invoice_next_attempt_at)
  where invoice_state in ('due', 'drafted', 'filled');

-- Notifications of the provider, each once, until they are old. They are hints to read the customer.
create table provider_events (
  id text primary key,
  type text not null,
  customer_id text not null,
  received_at timestamptz not null default now(),
  applied_at timestamptz,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  error text
);
create index provider_events_due on provider_events (next_attempt_at) where applied_at is null;
