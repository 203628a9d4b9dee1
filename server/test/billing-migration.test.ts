import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import pg from 'pg'
import { migrate } from '../src/db/migrate.ts'
import { monthStart } from './billing-clock.ts'
import { startTestPostgres } from './postgres.ts'

const folder = new URL('../src/db/migrations/', import.meta.url)
const name = `billing_migration_${process.pid}`

test('organizations from before billing get a period since the first of the month', async (t) => {
  const postgres = await startTestPostgres()
  t.after(() => postgres.stop())
  await postgres.createDatabase(name)
  const client = new pg.Client({ connectionString: postgres.url(name) })
  await client.connect()
  t.after(() => client.end())
  await migrateUntil(client, '0012')
  await client.query(`
    insert into organizations (id, name, plan_id, limit_overrides, created_at) values
      ('org_old', 'Old', 'pro', '{}', '2026-01-15T10:20:30Z'),
      ('org_new', 'New', 'enterprise', '{"machines": 5}', now())`)
  const before = new Date()
  await migrate(postgres.url(name))

  const { rows } = await client.query(`select * from billing_periods order by organization_id desc`)
  const periods = rows.map((row) => [
    row.organization_id,
    row.plan_id,
    row.catalog_version,
    row.terms,
    row.status,
    row.ends_at,
  ])
  assert.deepEqual(periods, [
    ['org_old', 'pro', 1, {}, 'open', monthStart(1, before)],
    ['org_new', 'enterprise', 1, { machines: 5 }, 'open', monthStart(1, before)],
  ])
  assert.deepEqual(rows[0].starts_at, monthStart(0, before))
  assert.ok(before.getTime() - rows[1].starts_at.getTime() < 3_600_000)
  const { rows: terms } = await client.query('select * from organization_terms')
  assert.deepEqual(
    terms.map(({ organization_id, terms: agreed }) => [organization_id, agreed]),
    [['org_new', { machines: 5 }]],
  )
  const { rows: accounts } = await client.query('select state from billing_accounts')
  assert.deepEqual(accounts, [{ state: 'active' }, { state: 'active' }])
})

/** Applies the migrations before one, as a server of that time did. */
async function migrateUntil(client: pg.Client, end: string): Promise<void> {
  await client.query(
    'create table migrations (name text primary key, applied_at timestamptz not null default now())',
  )
  for (const file of (await readdir(folder)).sort()) {
    if (file >= end) break
    await client.query(await readFile(new URL(file, folder), 'utf8'))
    await client.query('insert into migrations (name) values ($1)', [file])
  }
}
