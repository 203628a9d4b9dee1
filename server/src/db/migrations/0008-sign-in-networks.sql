-- The network that a session was opened from. Null: opened before this column, or not over the network.
alter table auth_sessions add column network text;
create index auth_sessions_of_network on auth_sessions (user_id, network);
