import { ApiKeyScope, type MachineId, type OrganizationId, type UserId } from '@computer/contract'
import { sql } from 'kysely'
import { pino } from 'pino'
import { openDatabase, type Database, type Tx } from '../server/src/db/database.ts'
import { insertApiKey } from '../server/src/domain/accounts/api-keys.ts'
import { openAccount } from '../server/src/domain/accounts/periods.ts'
import { databaseUrl } from '../server/src/host/postgres.ts'
import { newId } from '../server/src/ids.ts'
import type { BenchContext } from './row.ts'

/** An organization that exists for a bench alone, whose open period began thirty days ago. */
export type Billed = AsyncDisposable & {
  readonly organizationId: OrganizationId
  readonly userId: UserId
  /** The time at which the period begins. */
  readonly start: Date
  /** The secret of an API key that reads usage. */
  readonly secret: string
}

const machineCount = 20
const hourMs = 3_600_000
const tables = ['meter_intervals', 'machines', 'billing_periods', 'billing_accounts', 'api_keys']

export function openBenchDatabase({ dataDir }: Pick<BenchContext, 'dataDir'>): Database {
  const log = pino({ level: 'silent' })
  return openDatabase(databaseUrl(dataDir), { log, maxConnections: 1 })
}

/**
 * Intervals of whole seconds, evenly over the period so far and one after the other: six of ten are compute of
 * the three sizes in turn, three are disks and one is a capture.
 */
export async function openBilled(db: Database, intervals: number): Promise<Billed> {
  const [organizationId, userId] = [newId('org'), newId('usr')]
  const start = new Date(Math.floor(Date.now() / hourMs - 30 * 24) * hourMs)
  const secret = await db.transaction().execute(async (tx) => {
    await tx.insertInto('organizations').values({ id: organizationId, name: 'Bench' }).execute()
    const email = `${userId}@example.com`
    await tx.insertInto('users').values({ id: userId, email, name: 'Bench' }).execute()
    const membership = { id: newId('mem'), organization_id: organizationId, user_id: userId }
    await tx
      .insertInto('memberships')
      .values({ ...membership, role: 'owner' })
      .execute()
    await openAccount(tx, organizationId, 'startup')
    await sql`update billing_periods set starts_at = ${start}
      where organization_id = ${organizationId}`.execute(tx)
    await insertIntervals(tx, organizationId, start, intervals)
    const owner = { organizationId, userId }
    const key = { name: 'Bench', scopes: [ApiKeyScope.enum['usage:read']] }
    return (await insertApiKey(tx, owner, newId('key'), key)).secret
  })
  await sql`analyze meter_intervals`.execute(db)
  return {
    organizationId,
    userId,
    start,
    secret,
    [Symbol.asyncDispose]: () => remove(db, organizationId, userId),
  }
}

async function insertIntervals(tx: Tx, organizationId: OrganizationId, start: Date, count: number) {
  const machines = Array.from({ length: machineCount }, () => newId('mch'))
  // They are gone, so that no worker looks for them in the engine.
  await sql`
    insert into machines (id, organization_id, name, state, os, size, image_id, cpu, memory_mb, disk_gb,
      region, metadata, uid_slot, wanted, deleted_at)
    select id, ${organizationId}, id, 'deleting', 'linux', 'small', i.image_id, 1, 1, 1, '', '{}', 0,
      'stopped', now()
    from unnest(${machines satisfies MachineId[]}::text[]) as id,
      (select id as image_id from images limit 1) as i`.execute(tx)
  await sql`
    insert into meter_intervals (organization_id, machine_id, meter, size, bytes, started_at, ended_at)
    select ${organizationId}, (${machines}::text[])[1 + n % ${machineCount}],
      case when n % 10 < 6 then 'compute' when n % 10 < 9 then 'hot_storage' else 'cold_storage' end,
      case when n % 10 < 6 then (array['small', 'standard', 'large'])[1 + n % 3] end,
      case when n % 10 < 6 then null when n % 10 < 9 then 10 * 2 ^ 30 else 1e9 + n end,
      start + make_interval(secs => n * step), start + make_interval(secs => (n + 1) * step)
    from generate_series(0, ${count - 1}::int) as n, (
      select start, floor(extract(epoch from now() - start) / ${count}::int) as step
      from (select ${start}::timestamptz as start) as period
    ) as each`.execute(tx)
}

async function remove(db: Database, organizationId: OrganizationId, userId: UserId): Promise<void> {
  for (const table of [...tables, 'memberships'])
    await sql`delete from ${sql.table(table)} where organization_id = ${organizationId}`.execute(db)
  await sql`delete from users where id = ${userId}`.execute(db)
  await sql`delete from organizations where id = ${organizationId}`.execute(db)
}
