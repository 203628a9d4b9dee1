import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { setLabelKeys } from '../../src/domain/billing/labels.ts'
import { verifyPeriods } from '../../src/domain/billing/verification.ts'
import { startTestServer } from '../harness.ts'
import { simulateClock } from '../simulated-clock.ts'
import { accountStory, founded, over } from './account-story.ts'
import { doRounds, livingAccount } from './accounting.ts'
import { catalogs } from './catalogs.ts'
import { livingMachines } from './living.ts'
import { tellMachines } from './machine-story.ts'

/*
 * A year of an organization with fifty machines, on a database whose clock is set to each moment in which
 * something happens. The server does it with its own functions, and bills it. A program that shares no code
 * with it (year.mjs) bills the same story. Every number must be the same.
 */

const clock = simulateClock({ after }, new Date(founded))
const server = await startTestServer({ after }, { worker: false, prepare: clock.prepare })
const { app, call } = server
const actor = await server.user('owner')
const { organizationId } = actor

const machineStory = tellMachines(2028)

test('a year is billed as an independent program bills it, to the cent', async () => {
  await live()
  const expected = billIndependently()
  const billed = await readBills()
  assert.equal(billed.length, expected.length)
  for (const [index, bill] of billed.entries()) assert.deepEqual(bill, expected[index])
  const { periods, differences } = await verifyPeriods(app.db, organizationId)
  assert.deepEqual([periods, differences], [expected.length, []])
})

/** Everything happens in its order, and the worker makes its rounds between. */
async function live(): Promise<void> {
  await setLabelKeys(app, actor, ['team'])
  const doToMachine = livingMachines(app, actor)
  const doToAccount = livingAccount(app.db, organizationId)
  const happenings = [
    ...machineStory.map((it) => ({ at: it.at, happen: () => doToMachine(it) })),
    ...accountStory.map((it) => ({ at: it.at, happen: () => doToAccount(it) })),
    ...roundsOfWorker().map((at) => ({ at, happen: () => doRounds(app.db) })),
  ].toSorted((a, b) => a.at.localeCompare(b.at))
  for (const { at, happen } of happenings) {
    await clock.set(new Date(at))
    await happen()
  }
}

/** Every day at some seconds past midnight, and when the last period can be closed. */
function roundsOfWorker(): string[] {
  const rounds: number[] = []
  for (let at = Date.UTC(2028, 0, 4); at <= Date.parse(over); at += 86_400_000) {
    rounds.push(at + 7_777, at + 700_000)
  }
  return rounds.map((at) => new Date(at).toISOString())
}

type Bill = Record<string, unknown>

function billIndependently(): Bill[] {
  const program = fileURLToPath(new URL('year.mjs', import.meta.url))
  const story = { catalogs, account: accountStory, machines: machineStory, over }
  const { status, stdout, stderr } = spawnSync(process.execPath, [program], {
    input: JSON.stringify(story),
    encoding: 'utf8',
  })
  assert.equal(status, 0, stderr)
  return JSON.parse(stdout) as Bill[]
}

/** The bills of all periods before the open one, as clients read them. */
async function readBills(): Promise<Bill[]> {
  const bills: Bill[] = []
  for (let at = founded; at < over; at = String(bills.at(-1)!['period_end'])) {
    const { status, body } = await call('GET', `/v1/billing/usage-summary?period=${at}`)
    assert.deepEqual([status, body.status], [200, 'final'])
    const { status: _, currency, ...bill } = body
    assert.equal(currency, 'usd')
    bills.push({
      ...bill,
      lines: bill.lines.map(({ unit: _unit, currency: _currency, ...line }: Bill) => line),
      adjustments: bill.adjustments.map((adjustment: Bill) => adjustment['amount_cents']),
    })
  }
  return bills
}
