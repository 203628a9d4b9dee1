-- Machines that are made in advance and belong to nobody. No list, meter, limit or event knows them: a
-- create takes a ready one, with its id and its uid slot, and only then is it a machine.
create table warm_machines (
  id text primary key,
  -- Whoever brings a machine to `ready` has frozen it before, and nobody touches it until it is taken.
  state text not null default 'making' check (state in ('making', 'ready', 'ending')),
  image_id text not null references images,
  -- The disk of a template, or null for that of the image.
  base_capture_id text,
  size text not null,
  cpu integer not null,
  memory_mb integer not null,
  disk_gb integer not null,
  uid_slot integer not null unique references uid_slots,
  -- A machine that could not be made is made anew in the next generation. A worker that was stalled can
  -- then do nothing to it.
  generation integer not null default 1,
  -- The build of the agent that it booted with.
  agent_build text not null,
  ready_at timestamptz,
  created_at timestamptz not null default now(),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  claimed_by text,
  claimed_until timestamptz
);

-- The owner of a slot is a machine or a warm machine, which keeps its slot when it becomes a machine.
alter table uid_slots drop constraint uid_slots_machine_id_fkey;

-- For a machine that was taken warm: the id that its call would have given it. A repeated call finds the
-- machine by it, and lists have the machine where its call belongs.
alter table machines add column requested_id text unique,
  -- It was taken warm, and its instance waits frozen until its creation wakes it.
  add column is_frozen boolean not null default false;
drop index machines_of_organization;
create index machines_of_organization on machines (organization_id, coalesce(requested_id, id) desc)
  where deleted_at is null;

-- An operator keeps this many machines of the template warm.
alter table templates add column warm integer not null default 0;
