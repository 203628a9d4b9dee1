-- For what a worker looks for once a minute.
create index attempts_window on attempts (window_ends_at);
create index webhooks_former on webhooks (former_until) where former_until is not null;
create index provider_events_received on provider_events (received_at);
create index password_resets_expiry on password_resets (expires_at);
create index login_links_expiry on login_links (expires_at);
create index auth_sessions_expiry on auth_sessions (expires_at);
create index auth_sessions_revocation on auth_sessions (revoked_at) where revoked_at is not null;

-- For the templates that a worker keeps machines of.
create index templates_warm on templates (id) where warm > 0;

-- For the keys of a member who leaves.
create index api_keys_creator on api_keys (created_by) where revoked_at is null;
