import { Kysely, type Selectable, type Transaction } from 'kysely'
import pg from 'pg'
import type { Logger } from 'pino'
import { NamingClient } from './named-statements.ts'
import { NamingDialect } from './query-compiler.ts'
import type { AccountsTables } from './tables/accounts.ts'
import type { ActivityTables } from './tables/activity.ts'
import type { BillingTables } from './tables/billing.ts'
import type { BudgetsTables } from './tables/budgets.ts'
import type { CatalogTables } from './tables/catalog.ts'
import type { DisksTables } from './tables/disks.ts'
import type { HelpTables } from './tables/help.ts'
import type { HostsTables } from './tables/hosts.ts'
import type { MachinesTables } from './tables/machines.ts'
import type { SecretsTables } from './tables/secrets.ts'
import type { PreviewsTables } from './tables/previews.ts'
import type { WebhookTables } from './tables/webhooks.ts'

export type Schema = CatalogTables &
  ActivityTables &
  BillingTables &
  BudgetsTables &
  AccountsTables &
  MachinesTables &
  DisksTables &
  HelpTables &
  HostsTables &
  PreviewsTables &
  WebhookTables &
  SecretsTables

/** For reads and single statements. A `Tx` is one too, so functions that take a Database run inside one. */
export type Database = Kysely<Schema>
/** Holding one proves that a transaction is open. */
export type Tx = Transaction<Schema>
export type MachineRow = Selectable<Schema['machines']>
export type WarmMachineRow = Selectable<Schema['warm_machines']>
export type EventRow = Selectable<Schema['machine_events']>
export type ActivityRow = Selectable<Schema['activity']>
export type HostRow = Selectable<Schema['hosts']>
export type RelocationRow = Selectable<Schema['relocations']>
export type HelpRow = Selectable<Schema['help_requests']>
export type WebhookRow = Selectable<Schema['webhooks']>
export type WebhookDeliveryRow = Selectable<Schema['webhook_deliveries']>
export type SessionRow = Selectable<Schema['sessions']>
export type ApiKeyRow = Selectable<Schema['api_keys']>
export type UserRow = Selectable<Schema['users']>
export type OrganizationRow = Selectable<Schema['organizations']>
export type InvitationRow = Selectable<Schema['invitations']>
export type MailRow = Selectable<Schema['mails']>
export type AuditEventRow = Selectable<Schema['audit_events']>
export type CaptureRow = Selectable<Schema['captures']>
export type CaptureCopyRow = Selectable<Schema['capture_copies']>
export type SnapshotRow = Selectable<Schema['snapshots']>
export type SecretRow = Selectable<Schema['machine_secrets']>
export type TemplateRow = Selectable<Schema['templates']>
export type PreviewRow = Selectable<Schema['previews']>
export type BudgetRow = Selectable<Schema['budgets']>
export type PeriodRow = Selectable<Schema['billing_periods']>

type PoolOptions = { readonly log: Logger; readonly maxConnections: number }

export function openDatabase(url: string, options: PoolOptions): Database {
  return databaseOver(openPool(url, options))
}

/** The pool ends with the database. */
export function databaseOver(pool: pg.Pool): Database {
  return new Kysely<Schema>({ dialect: new NamingDialect({ pool }) })
}

export function openPool(url: string, options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    Client: NamingClient,
    max: options.maxConnections,
    types: { getTypeParser },
  })
  // A connection that dies fails its next statement and is replaced. If it dies between statements, even
  // within a transaction, this listener alone sees the error.
  pool.on('connect', (client) => {
    void client.query(limitTransactions).catch(() => {})
    client.on('error', (error) => options.log.warn({ err: error }, 'lost a database connection'))
  })
  pool.on('error', () => {})
  return pool
}

/** Connects for a few statements of a program that ends soon or seldom asks. */
export async function withDatabase<T>(
  url: string,
  log: Logger,
  use: (db: Database) => Promise<T>,
): Promise<T> {
  const db = openDatabase(url, { log, maxConnections: 1 })
  try {
    return await use(db)
  } finally {
    await db.destroy()
  }
}

/** After this long, every transaction that had begun is over. */
export const transactionsEndWithinMs = 10 * 60_000

/**
 * No transaction lasts longer than nine minutes: what is counted, closed or labeled once all transactions of a
 * time are over depends on it. Postgres before 17 lacks the limit of whole transactions; ours have few
 * statements, and none waits for anything but the database.
 */
const limitTransactions = `
  select set_config(name, case name when 'transaction_timeout' then '540s' else '60s' end, false)
  from pg_settings
  where name in ('transaction_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout')`

/** Parses bigints as numbers (fences and counts stay below 2^53), other types as pg does. */
function getTypeParser(oid: number, format?: 'text' | 'binary') {
  if (oid === pg.types.builtins.INT8) return (value: string) => Number(value)
  return format === 'binary'
    ? pg.types.getTypeParser(oid, 'binary')
    : pg.types.getTypeParser(oid, 'text')
}
