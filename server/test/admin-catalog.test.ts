import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { getPeriod, rollPeriods } from '../src/domain/accounts/periods.ts'
import type { CatalogFile } from '../src/domain/billing/catalog-file.ts'
import { runAdminCommand } from '../src/host/admin/commands.ts'
import { readRequest } from '../src/host/admin/request.ts'
import { monthStart, moveOpenPeriod } from './billing-clock.ts'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after }, { worker: false })
const { db } = server.app
const operator = { type: 'operator', id: 'operator', name: 'root' } as const
const { organizationId } = await server.user('owner', 'stranger')

test('a file with a fault is refused with the place of the fault', async () => {
  const file = await show()
  const [free] = file.plans
  const faults: [Partial<CatalogFile> & Record<string, unknown>, RegExp][] = [
    [{ plans: [] }, /catalog\.plans/],
    [{ plans: [free!, free!] }, /plans: each id must be unique/],
    [{ plans: [{ ...free!, limits: { machines: 1 } as never }] }, /plans\.0\.limits\.\w+/],
    [{ plans: [{ ...free!, id: 'Free' }] }, /plans\.0\.id: must be lower-case/],
    [{ sizes: file.sizes.slice(1) }, /sizes: must be small, standard, large/],
    [{ prices: [...file.prices, ...file.prices] }, /an item has one price in a currency/],
    [{ prices: [{ ...file.prices[0]!, per_units: '0' }] }, /prices\.0\.per_units/],
    [{ discounts: [] }, /catalog: .*discounts/],
    [{ plans: [{ ...free!, when_used_up: 'pause' as never }] }, /plans\.0\.when_used_up/],
    [
      { plans: [{ ...free!, overage_allowed: true, when_used_up: 'stop' }] },
      /when_used_up must be allow in a plan with overage_allowed/,
    ],
  ]
  for (const [change, message] of faults)
    await assert.rejects(apply({ ...file, ...change }), message)
  assert.equal((await show()).catalog_version, 1)
})

test('a version is added for later or from now on, and prices the next period', async (t) => {
  const file = await show()
  const changed: CatalogFile = {
    ...file,
    plans: file.plans.map(({ when_used_up: _whenUsedUp, ...plan }) => ({
      ...plan,
      limits: { ...plan.limits, machines: 77 },
      // A file from before this field lacks it.
      ...(plan.id === 'free' && { when_used_up: 'refuse' }),
    })),
    prices: [],
  }
  await assert.rejects(apply(changed, '2020-01-01T00:00:00Z'), /choose a later time/)
  const past = new Date(Date.now() - 3_600_000).toISOString()
  await assert.rejects(apply(changed, past), /the time has passed/)

  // As an operator does it.
  const folder = await mkdtemp(join(tmpdir(), 'computer-catalog-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'catalog.json'), JSON.stringify(changed))
  const main = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url))
  const env = { ...process.env, COMPUTER_DATA: folder, DATABASE_URL: server.databaseUrl }
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [main, 'admin', 'catalog', 'apply', join(folder, 'catalog.json')],
    { env },
  )
  assert.match(stdout, /^version 2 of the catalog takes effect at 20/)

  const { body } = await server.call('GET', '/v1/plans')
  assert.deepEqual([body.catalog_version, body.prices], [2, []])
  assert.equal(body.data[0].limits.machines, 77)
  assert.deepEqual(
    body.data.map((plan: { when_used_up: string }) => plan.when_used_up),
    ['refuse', 'allow', 'allow', 'allow', 'allow'],
  )
  const { body: account } = await server.call('GET', '/v1/billing')
  assert.deepEqual([account.catalog_version, account.plan.limits.machines], [1, 100])
  // A second operator worked on the first version.
  await assert.rejects(apply(changed), /made from version 1 of the catalog, and the newest is 2/)

  const later = monthStart(2).toISOString()
  const { json } = await apply({ ...changed, catalog_version: 2 }, later)
  assert.deepEqual(json, { catalog_version: 3, effective_at: later })
  assert.equal((await server.call('GET', '/v1/plans')).body.catalog_version, 2)
  assert.equal((await show()).catalog_version, 3)
  await assert.rejects(apply({ ...changed, catalog_version: 3 }), /choose a later time/)

  await db
    .updateTable('catalog_versions')
    .set({ effective_at: monthStart(-1) })
    .where('version', '=', 2)
    .execute()
  await moveOpenPeriod(db, organizationId, { start: monthStart(-1), end: monthStart(0) })
  await rollPeriods(db)
  assert.equal((await getPeriod(db, organizationId)).catalog_version, 2)
})

async function show(): Promise<CatalogFile> {
  const { json, text } = await run({ command: 'catalog show' })
  assert.deepEqual(JSON.parse(text), json)
  return json as CatalogFile
}

function apply(catalog: object, effectiveAt: string | null = null) {
  return run({ command: 'catalog apply', catalog, effectiveAt })
}

async function run(request: object) {
  const command = readRequest(JSON.stringify(request))
  return runAdminCommand(server.app, operator, command, Readable.from([]))
}
