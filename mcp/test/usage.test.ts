import type { CreateBudget } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { changeStanding } from '../../server/src/domain/accounts/standing.ts'
import { startServer } from '../../sdk/test/server.ts'
import { createBudget } from '../../server/src/domain/budgets/budgets.ts'
import { newId } from '../../server/src/ids.ts'
import { connectHere, textOf } from './client.ts'

const server = await startServer({ after })
const { baseUrl, key: apiKey } = server
const { name: machine, id } = await server.connect().machines.create({ name: 'first' })
await server.app.db
  .updateTable('meter_intervals')
  .set({ started_at: new Date(Date.now() - 7_200_000) })
  .where('machine_id', '=', id as `mch_${string}`)
  .execute()
// The period begins with the hour in which the server was made.
await server.app.db
  .updateTable('billing_periods')
  .set({ starts_at: new Date(Math.floor(Date.now() / 3_600_000 - 3) * 3_600_000) })
  .execute()

test('usage tells the limits, what was used and what it costs', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  const text = await mcp.ok('usage')
  assert.match(text, /^Plan Startup, machines up to large, billing period 20/)
  assert.match(text, /\nrunning_machines: 1 of 30\nmachines: 1 of 100\n/)
  assert.match(
    text,
    /\nincluded compute: 1\.00\d{4} of 2000\.000000 standard-hours used, 199[89]\.\d{6} remaining\n/,
  )
  assert.match(text, /\ncompute_small_seconds: 2(\.\d+)? hours, 0\.00 USD\n/)
  assert.match(text, /\ntotal: 0\.00 USD \(for information: /)
})

test('usage of a machine is that of the machine alone', async (t) => {
  const mcp = await connectHere(t, { apiKey, baseUrl })
  await server.machine({ name: 'other' })
  const text = await mcp.ok('usage', { machine })
  assert.match(text, /^first in this billing period:\ncompute_small_seconds: 2(\.\d+)? hours\n/)
  assert.match(text, /\nhot_storage_byte_seconds: 21\.\d+ GB-hours$/)
})

test('usage tells the budgets and what is left of them, and a refused start says which', async (t) => {
  const budget = {
    name: 'nightly',
    limit: { type: 'standard_hours', value: '10' },
    scope: { type: 'machine', machine_id: id as `mch_${string}` },
    window: 'once',
    thresholds: [],
    action: 'stop',
    minimum_run_seconds: 60,
  } satisfies CreateBudget
  const { id: budgetId } = await createBudget(
    server.app,
    await server.user('owner'),
    newId('bud'),
    budget,
  )
  const mcp = await connectHere(t, { apiKey, baseUrl })
  const told = new RegExp(
    `\\nbudget "nightly" \\(${budgetId}\\) of ${id}: [\\d.]+ of 10 standard-hours used, [\\d.]+ left in all; used up at 20\\S+ if what runs goes on; action stop`,
  )
  assert.match(await mcp.ok('usage'), told)
  assert.match(await mcp.ok('usage', { machine }), told)
  await mcp.ok('stop_machine', { machine })
  await server.app.db.deleteFrom('budget_windows').execute()
  const since = new Date(Date.now() - 10_800_000)
  const change = { limit_micros: '1', created_at: since }
  await server.app.db.updateTable('budgets').set(change).execute()
  assert.match(await mcp.ok('usage', { machine }), /; used up; action stop/)
  const refused = await mcp.call('start_machine', { machine })
  assert.ok(refused.isError)
  assert.match(textOf(refused), /^Budget "nightly" \(bud_\w+\) has no room/)
})

test('usage tells of a payment that is due, and a refusal says whom to ask', async (t) => {
  const { db } = server.app
  const { id: home } = await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
  const set = (state: 'active' | 'past_due') =>
    db.transaction().execute((tx) => changeStanding(tx, home, { state }))
  t.after(() => set('active'))
  await set('past_due')
  await db
    .updateTable('billing_accounts')
    .set({ past_due_since: new Date(Date.now() - 8 * 86_400_000) })
    .execute()
  const mcp = await connectHere(t, { apiKey, baseUrl })
  assert.match(
    await mcp.ok('usage'),
    /\na payment is due since 20\S+: from 20\S+ on, machines can be neither created, started nor forked; what runs goes on\n/,
  )
  assert.match(
    await mcp.refused('create_machine', { name: 'more' }),
    /^A payment is due since .* You cannot fix this: ask the user to look at plan and billing at http/,
  )
})
