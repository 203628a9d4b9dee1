-- Bills and audit logs outlive what they are about, so both rows stay. A deleted user keeps no personal data.
alter table organizations add column deleted_at timestamptz;
alter table users add column deleted_at timestamptz;
