import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { changeStanding, type StandingChange } from '../../server/src/domain/accounts/standing.ts'
import { formatQuantity } from '../src/commands/billing/quantities.ts'
import { startComputer } from './computer.ts'

const { run, json, server } = await startComputer({ after })
const { id } = await server.machine({ name: 'first' })
await server.app.db
  .updateTable('meter_intervals')
  .set({ started_at: new Date(Date.now() - 7_200_000) })
  .where('machine_id', '=', id)
  .execute()
const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)

test('usage is summed by machine, or shown as records', async () => {
  const { stdout } = await run(['usage', 'first', '--start', yesterday])
  assert.match(
    stdout,
    /^MACHINE +METER +QUANTITY +START +END\nfirst +compute small +2(\.\d+)? hours /,
  )
  assert.match(stdout, /\nfirst +hot storage +20(\.\d+)? GB-hours /)
  const records = await json('usage', '--start', yesterday, '--records')
  assert.ok(records.every((record: { machine_id: string }) => record.machine_id === id))
  assert.match(records[0].quantity, /^\d+$/)
  const none = await run(['usage', '--start', '2020-01-01', '--end', '2020-01-02'])
  assert.deepEqual([none.code, none.stdout], [0, ''])
  assert.match(none.stderr, /Nothing was used/)
  assert.equal((await run(['usage', '--start', 'monday'])).code, 2)
})

test('usage is summed by caller and by label, and exported', async () => {
  assert.match((await run(['usage', 'labels'])).stdout, /counted by no key of metadata/)
  const refused = await run(['usage', 'labels', 'team'])
  assert.deepEqual([refused.code, refused.stdout], [4, ''])
  const window = ['--start', yesterday]
  const byCaller = await run(['usage', '--by', 'key', ...window])
  assert.match(byCaller.stdout, /^CALLER +METER .*\nOwner key +compute small +2/)
  const { labels } = (await json('usage', '--by', 'team', ...window))[0]
  assert.deepEqual(labels, {})
  assert.match(
    (await run(['usage', '--by', 'team', ...window])).stdout,
    /^TEAM +METER .*\n- +compute/,
  )
  assert.deepEqual(await json('usage', '--label', 'team=red', ...window), [])

  const csv = await run(['usage', 'export'])
  assert.match(csv.stdout, /^start,end,meter,size,quantity,machine_id/)
  assert.match((await run(['usage', 'export', '--format', 'focus'])).stdout, /^BilledCost,/)
  const metrics = await run(['usage', 'export', '--format', 'openmetrics'])
  assert.match(metrics.stdout, /\n# EOF\n$/)
  assert.equal((await run(['usage', 'export', '--period', '2020-01-01'])).code, 5)
})

test('the plan is shown with its limits, and all plans', async () => {
  const { stdout } = await run(['plan'])
  assert.match(stdout, /^plan +Startup \(startup\)\nstate +active\nperiod +20/)
  assert.match(stdout, /\nrunning machines +1 of 30\nmachines +1 of 100\n/)
  assert.equal((await json('plan')).plan.id, 'startup')
  const all = await run(['plan', '--all'])
  assert.match(
    all.stdout,
    /\ndeveloper +Developer +20\.00 USD +5 +3 +standard +120 +80\.5 GB +charged\n/,
  )
  assert.equal((await json('plan', '--all')).length, 5)
})

test('billing shows the lines of the period and their total', async () => {
  const { stdout } = await run(['billing'])
  assert.match(
    stdout,
    /^startup, 20\S+ to 20\S+ \(estimate\)\n\nMETER +USED +INCLUDED +BEYOND +AMOUNT\n/,
  )
  assert.match(stdout, /\negress +0 B +0 B +0 B +0\.00 USD\n/)
  assert.match(stdout, /\nTotal: 0\.00 USD\n$/)
  assert.equal((await json('billing')).total_cents, 0)
  assert.equal((await run(['billing', '--period', '2020-01-31'])).code, 5)
})

test('what is due, and what follows from it, is shown, and told by a refusal', async (t) => {
  const { db } = server.app
  const { id: home } = await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
  const set = (change: StandingChange) =>
    db.transaction().execute((tx) => changeStanding(tx, home, change))
  t.after(() => set({ state: 'active' }))
  await set({ state: 'past_due' })
  await sql`update billing_accounts set past_due_since = past_due_since - interval '7 days'`.execute(
    db,
  )
  const { stdout } = await run(['plan'])
  assert.match(stdout, /\nstate +past_due\n/)
  assert.match(stdout, /\npayment due since +20\S+\nno starts from +20\S+\nrunning machines /)
  const refused = await run(['machines', 'create', 'second'])
  assert.equal(refused.code, 7)
  assert.match(refused.stderr, /^error: a payment is due since 20.*; see http\S+\/billing\n$/)

  await set({ state: 'trialing', trialEndsAt: new Date('2099-01-01T00:00:00Z'), endsPlan: true })
  const trial = await run(['plan'])
  assert.match(trial.stdout, /\nnext plan +free, from 2099-01-01T00:00:00.000Z\n/)
  assert.match(trial.stdout, /\ntrial ends +2099-01-01\S+\nmachines beyond the plan stop +2099-/)
})

test('quantities have units that people know', () => {
  const quantities = [
    formatQuantity('compute_large_seconds', '900'),
    formatQuantity('compute_large_seconds', '3600000'),
    formatQuantity('hot_storage_byte_seconds', '38654705664000'),
    formatQuantity('egress_bytes', '1500000'),
  ]
  assert.deepEqual(quantities, ['0.25 hours', '1000 hours', '10 GB-hours', '1.5 MB'])
})
