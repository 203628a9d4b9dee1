import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import type { Terms } from '../src/db/tables/billing.ts'
import { openAccount, rollPeriods } from '../src/domain/accounts/periods.ts'
import { changePlan } from '../src/domain/accounts/plan-changes.ts'
import { getEntitlements } from '../src/domain/accounts/plans.ts'
import { addEgress, egressOf } from '../src/domain/previews/egress.ts'
import { newId } from '../src/ids.ts'
import { hoursAgo, monthStart, moveOpenPeriod, periodsOf } from './billing-clock.ts'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after }, { worker: false })
const { db } = server.app

test('a new organization has an open period from this hour to the end of the month', async () => {
  const id = await newOrganization('free')
  const [period, ...others] = await periodsOf(db, id)
  assert.deepEqual(others, [])
  assert.partialDeepStrictEqual(period, {
    plan_id: 'free',
    catalog_version: 1,
    status: 'open',
    has_whole_allowance: true,
    terms: {},
  })
  assert.equal(period!.starts_at.getTime() % 3_600_000, 0)
  assert.deepEqual(period!.ends_at, monthStart(1, period!.starts_at))
})

test('an upgrade counts at once and ends the period at the beginning of the hour', async () => {
  const id = await newOrganization('free')
  const start = hoursAgo(50)
  await moveOpenPeriod(db, id, { start, end: monthStart(1) })
  const terms = { machines: 7 }
  assert.equal((await change(id, 'pro', { terms })).effectiveAt, null)
  const [old, now, ...others] = await periodsOf(db, id)
  assert.deepEqual(others, [])
  assert.deepEqual([old!.plan_id, old!.status, old!.starts_at], ['free', 'closing', start])
  assert.deepEqual(now!.starts_at, old!.ends_at)
  assert.ok(Date.now() - now!.starts_at.getTime() < 3_700_000)
  assert.partialDeepStrictEqual(now, { plan_id: 'pro', status: 'open', terms })
  assert.equal(now!.has_whole_allowance, false)
  // Its last events and bytes may still be on their way.
  assert.ok(old!.closes_at!.getTime() > Date.now() + 9 * 60_000)
  const entitlements = await getEntitlements(db, id)
  assert.deepEqual([entitlements.planId, entitlements.limit('machines')], ['pro', 7])

  // Another one within the hour changes the period that it began.
  if (now!.starts_at.getTime() === hoursAgo(0).getTime()) {
    await change(id, 'startup')
    const after = await periodsOf(db, id)
    assert.deepEqual(
      after.map(({ plan_id, status }) => [plan_id, status]),
      [
        ['free', 'closing'],
        ['startup', 'open'],
      ],
    )
    assert.deepEqual(after[1]!.terms, {})
  }
})

test('a downgrade waits for the end of the period, with the terms that come with it', async () => {
  const id = await newOrganization('startup')
  await change(id, 'startup', { terms: { machines: 3 } })
  const [period] = await periodsOf(db, id)
  const { effectiveAt } = await change(id, 'pro', { terms: { machines: 2 } })
  assert.deepEqual(effectiveAt, period!.ends_at)
  assert.equal((await getEntitlements(db, id)).limit('machines'), 3)

  // The month before this one is over.
  await moveOpenPeriod(db, id, { start: monthStart(-1), end: monthStart(0) })
  await sql`update organization_terms set effective_at = ${monthStart(0)}
    where organization_id = ${id} and effective_at = ${effectiveAt}`.execute(db)
  await rollPeriods(db)
  const periods = await periodsOf(db, id)
  assert.deepEqual(
    periods.map(({ plan_id, terms, starts_at, ends_at }) => [plan_id, terms, starts_at, ends_at]),
    [
      ['startup', { machines: 3 }, monthStart(-1), monthStart(0)],
      ['pro', { machines: 2 }, monthStart(0), monthStart(1)],
    ],
  )
  assert.equal((await getEntitlements(db, id)).limit('machines'), 2)
  assert.equal((await accountOf(id)).next_plan_id, null)
})

test('an upgrade, or the plan that is in effect, replaces a downgrade that waits', async () => {
  const id = await newOrganization('pro')
  await change(id, 'free', { terms: { members: 1 } })
  assert.equal((await accountOf(id)).next_plan_id, 'free')
  await change(id, 'pro')
  assert.equal((await accountOf(id)).next_plan_id, null)
  assert.equal((await periodsOf(db, id)).length, 1)
  await change(id, 'free')
  await change(id, 'startup')
  assert.equal((await accountOf(id)).next_plan_id, null)
  assert.equal((await getEntitlements(db, id)).planId, 'startup')
})

test('an operator can make a lower plan count at once', async () => {
  const id = await newOrganization('startup')
  await change(id, 'free', { immediate: true })
  assert.equal((await getEntitlements(db, id)).planId, 'free')
})

test('a server that was off opens a period for each month', async () => {
  const id = await newOrganization('pro')
  await moveOpenPeriod(db, id, { start: monthStart(-4), end: monthStart(-3) })
  await rollPeriods(db)
  const periods = await periodsOf(db, id)
  assert.deepEqual(
    periods.map(({ starts_at, status }) => [starts_at, status]),
    [
      [monthStart(-4), 'closing'],
      [monthStart(-3), 'closing'],
      [monthStart(-2), 'closing'],
      [monthStart(-1), 'closing'],
      [monthStart(0), 'open'],
    ],
  )
  assert.deepEqual((await accountOf(id)).closed_through, monthStart(0))
})

test('workers that roll at the same time open one period', async () => {
  const ids = await Promise.all(Array.from({ length: 5 }, () => newOrganization('pro')))
  for (const id of ids) await moveOpenPeriod(db, id, { start: monthStart(-2), end: monthStart(-1) })
  await Promise.all(Array.from({ length: 6 }, () => rollPeriods(db)))
  for (const id of ids) assert.equal((await periodsOf(db, id)).length, 3)
})

test('a period takes the version of the catalog that is in effect at its start', async (t) => {
  const id = await newOrganization('pro')
  await moveOpenPeriod(db, id, { start: monthStart(-2), end: monthStart(-1) })
  await copyCatalog(2, new Date(monthStart(0).getTime() - 3_600_000))
  t.after(async () => {
    await sql`update billing_periods set catalog_version = 1`.execute(db)
    for (const table of ['catalog_sizes', 'catalog_plans', 'catalog_prices'])
      await sql`delete from ${sql.table(table)} where catalog_version = 2`.execute(db)
    await sql`delete from catalog_versions where version = 2`.execute(db)
  })
  await rollPeriods(db)
  const versions = (await periodsOf(db, id)).map(({ catalog_version }) => catalog_version)
  assert.deepEqual(versions, [1, 1, 2])
})

test('a deleted organization gets no other period', async () => {
  const id = await newOrganization('pro')
  await moveOpenPeriod(db, id, { start: monthStart(-1), end: monthStart(0) })
  await sql`update organizations set deleted_at = now() where id = ${id}`.execute(db)
  await rollPeriods(db)
  assert.deepEqual(
    (await periodsOf(db, id)).map(({ status }) => status),
    ['closing'],
  )
  await rollPeriods(db)
})

test('neither events nor bytes fall into a period that has ended, even if the clock is set back', async () => {
  const worker = server.startWorker()
  const { id } = await server.machine({ start: false })
  await worker.stop()
  const { organization_id: organizationId } = await db
    .selectFrom('machines')
    .select('organization_id')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const ahead = new Date(hoursAgo(-2))
  await db
    .updateTable('billing_accounts')
    .set({ closed_through: ahead })
    .where('organization_id', '=', organizationId)
    .execute()
  const changed = await server.call('PATCH', `/v1/machines/${id}`, { name: 'renamed' })
  assert.equal(changed.status, 200)
  const [event] = await db
    .selectFrom('machine_events')
    .select('occurred_at')
    .where('machine_id', '=', id)
    .orderBy('sequence', 'desc')
    .limit(1)
    .execute()
  assert.deepEqual(event!.occurred_at, ahead)
  await addEgress(db, '1', [{ machineId: id, organizationId, bytes: 5 }])
  assert.equal(await egressOf(db, organizationId, { start: new Date(0), end: ahead }), 0n)
  const later = { start: ahead, end: new Date(ahead.getTime() + 1) }
  assert.equal(await egressOf(db, organizationId, later), 5n)
})

async function newOrganization(planId: string) {
  const id = newId('org')
  await db.transaction().execute(async (tx) => {
    await tx.insertInto('organizations').values({ id, name: 'An organization' }).execute()
    await openAccount(tx, id, planId)
  })
  return id
}

function change(
  id: `org_${string}`,
  planId: string,
  { terms = {}, immediate = false }: { terms?: Terms; immediate?: boolean } = {},
) {
  return db.transaction().execute((tx) => changePlan(tx, id, { planId, terms, immediate }))
}

async function accountOf(id: `org_${string}`) {
  return db
    .selectFrom('billing_accounts')
    .selectAll()
    .where('organization_id', '=', id)
    .executeTakeFirstOrThrow()
}

/** A version of the catalog with the rows of the first. */
async function copyCatalog(version: number, effectiveAt: Date): Promise<void> {
  await sql`insert into catalog_versions values (${version}, ${effectiveAt})`.execute(db)
  for (const table of ['catalog_sizes', 'catalog_plans', 'catalog_prices'] as const) {
    await sql`
      insert into ${sql.table(table)}
      select r.* from ${sql.table(table)} c,
        jsonb_populate_record(c, jsonb_build_object('catalog_version', ${version}::int)) r
      where c.catalog_version = 1`.execute(db)
  }
}
