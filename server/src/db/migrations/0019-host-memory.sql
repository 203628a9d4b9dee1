-- What the worker last saw of the host's memory. Null until it has looked.
alter table pool_status add column memory_total_bytes bigint;
alter table pool_status add column memory_available_bytes bigint;
