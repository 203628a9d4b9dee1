import type {
  ApiKeyId,
  ApiKeyScope,
  EventId,
  ImageId,
  MachineEventType,
  MachineId,
  MachineSize,
  MachineState,
  OrganizationId,
  Role,
  SessionId,
  SessionType,
  TemplateId,
  UserId,
} from '@computer/contract'
import { Kysely, PostgresDialect, type Generated, type Selectable, type Transaction } from 'kysely'
import pg from 'pg'
import type { Logger } from 'pino'
import { NamingClient } from './named-statements.ts'

type At = Generated<Date>

export type Schema = {
  catalog_versions: { version: number; effective_at: Date }
  catalog_sizes: {
    catalog_version: number
    id: MachineSize
    position: number
    cpu: number
    memory_mb: number
    disk_gb: number
    weight_milli: number
  }
  catalog_plans: {
    catalog_version: number
    id: string
    position: number
    name: string
    running_machines: number | null
    machines: number | null
    snapshots_per_machine: number | null
    templates: number | null
    members: number | null
    concurrent_sessions: number | null
    largest_size: MachineSize | null
    included_standard_hours: number | null
    included_hot_storage_bytes: number | null
    overage_allowed: boolean
    price_cents: number | null
    currency: string
  }
  organizations: {
    id: OrganizationId
    name: string
    plan_id: string
    limit_overrides: Generated<Record<string, number | string>>
    created_at: At
  }
  users: { id: UserId; email: string; name: string; created_at: At }
  memberships: {
    id: string
    organization_id: OrganizationId
    user_id: UserId
    role: Role
    created_at: At
  }
  api_keys: {
    id: ApiKeyId
    organization_id: OrganizationId
    name: string
    prefix: string
    secret_hash: Buffer
    scopes: ApiKeyScope[]
    created_by: UserId
    created_at: At
    last_used_at: Date | null
    expires_at: Date | null
    revoked_at: Date | null
  }
  images: {
    id: ImageId
    recipe_hash: string
    name: string
    os: 'linux'
    description: string
    is_default: boolean
    metadata_path: string
    rootfs_path: string
    created_at: At
  }
  machines: {
    id: MachineId
    organization_id: OrganizationId
    name: string
    state: MachineState
    os: 'linux'
    size: MachineSize
    image_id: ImageId
    template_id: TemplateId | null
    cpu: number
    memory_mb: number
    disk_gb: number
    region: string
    metadata: Record<string, string>
    created_at: At
    started_at: Date | null
    stopped_at: Date | null
    deleted_at: Date | null
    generation: Generated<number>
    uid_slot: number
    wanted: 'running' | 'stopped'
    stop_by_force: Generated<boolean>
    ready_at: Date | null
    boots: Generated<number>
    moves: Generated<number>
    event_sequence: Generated<number>
    attempts: Generated<number>
    next_attempt_at: At
    claimed_by: string | null
    claimed_until: Date | null
    last_error: string | null
  }
  uid_slots: { slot: number; machine_id: MachineId | null }
  sessions: {
    id: SessionId
    organization_id: OrganizationId
    machine_id: MachineId
    type: SessionType
    opened_by_type: 'user' | 'api_key'
    opened_by_id: string
    opened_by_name: string
    created_at: At
    last_active_at: At
    closed_at: Date | null
  }
  input_leases: {
    machine_id: MachineId
    fence: number
    session_id: SessionId | null
    acquired_at: Date | null
    expires_at: Date | null
  }
  machine_events: {
    id: EventId
    organization_id: OrganizationId
    machine_id: MachineId
    session_id: SessionId | null
    type: MachineEventType
    from_state: string | null
    to_state: string | null
    message: string | null
    sequence: number
    occurred_at: At
  }
  idempotency_keys: {
    id: Buffer
    body_hash: Buffer
    seed: string
    status: number | null
    sealed_response: Buffer | null
    running_until: Date
    created_at: At
  }
}

/** Reads and single statements. A `Tx` is one too, so what takes a Database also runs inside one. */
export type Database = Kysely<Schema>
/** Possession proves that a transaction is open. */
export type Tx = Transaction<Schema>
export type MachineRow = Selectable<Schema['machines']>
export type SessionRow = Selectable<Schema['sessions']>
export type ApiKeyRow = Selectable<Schema['api_keys']>

export function openDatabase(
  url: string,
  options: { readonly log: Logger; readonly maxConnections: number },
): Database {
  const pool = new pg.Pool({
    connectionString: url,
    Client: NamingClient,
    max: options.maxConnections,
    types: { getTypeParser },
  })
  // A connection that dies while idle is replaced at the next use.
  pool.on('error', (error) => options.log.warn({ err: error }, 'an idle database connection died'))
  return new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) })
}

/** Counters come back as numbers (fences and counts stay below 2^53), everything else as pg has it. */
function getTypeParser(oid: number, format?: 'text' | 'binary') {
  if (oid === pg.types.builtins.INT8) return (value: string) => Number(value)
  return format === 'binary'
    ? pg.types.getTypeParser(oid, 'binary')
    : pg.types.getTypeParser(oid, 'text')
}
