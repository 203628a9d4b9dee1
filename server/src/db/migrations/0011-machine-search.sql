-- The same index, by which a prefix of the name can be found as well, in every collation.
drop index machine_names;
create unique index machine_names on machines (organization_id, name text_pattern_ops)
  where deleted_at is null;
