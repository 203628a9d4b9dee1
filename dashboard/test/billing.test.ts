import { sql } from 'kysely'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { changeStanding, type StandingChange } from '../../server/src/domain/accounts/standing.ts'
import { closeBrowser, openPage, startDashboard, type Dashboard } from './harness.ts'
import { addMember } from './signing-in.ts'
import { disabledControls } from './spoken.ts'

after(closeBrowser)

/** Machines that have run for so long that the included compute of the plan startup is used up. */
async function startUsedDashboard(t: Parameters<typeof startDashboard>[0]) {
  const dashboard = await startDashboard(t)
  const { db } = dashboard.server.app
  const names = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh']
  for (const name of names) {
    const size = name === 'seventh' ? 'standard' : 'large'
    const { status } = await dashboard.owner.call('POST', '/v1/machines', { name, size })
    assert.equal(status, 201)
  }
  const days = sql`date_trunc('hour', now(), 'UTC') - interval '20 days'`
  await sql`update billing_periods set starts_at = ${days}`.execute(db)
  await sql`update meter_intervals set started_at = ${days} + id % 7 * interval '1 hour'`.execute(
    db,
  )
  const { id } = await db.selectFrom('machines').select('id').limit(1).executeTakeFirstOrThrow()
  await sql`update meter_intervals set labels = '{"team":"red"}' where machine_id = ${id}`.execute(
    db,
  )
  return dashboard
}

const summaryOf = async ({ owner }: Dashboard) =>
  (await owner.call('GET', '/v1/billing/usage-summary')).body

test('creating shows the price of an hour and the hours still included, and what the plan lacks', async (t) => {
  const dashboard = await startDashboard(t)
  const estimate = async (size: string) =>
    (await dashboard.owner.call('POST', '/v1/billing/estimate', { size })).body
  const { included_standard_hours: hours } = await estimate('small')
  const page = await openPage(t, dashboard, '/?create=true')
  const dialog = page.getByRole('dialog')
  const cost = dialog.getByRole('status')
  await cost.filter({ hasText: '$0.05 an hour while it runs' }).waitFor()
  const words = `${Number(hours).toLocaleString('en', { maximumFractionDigits: 1 })} standard-hours`
  await cost.filter({ hasText: words }).waitFor()
  await dialog.getByRole('combobox', { name: 'Size' }).click()
  const catalog = (await dashboard.owner.call('GET', '/v1/plans')).body
  for (const { id, cpu, disk_gb: disk } of catalog.sizes)
    await page
      .getByRole('option', { name: id })
      .filter({
        hasText: new RegExp(`${cpu} vCPU · \\d+ GB · ${disk} GB disk · \\$0\\.\\d+ an hour`),
      })
      .waitFor()
  await page.getByRole('option', { name: 'large' }).click()
  const { cents_per_hour: cents } = await estimate('large')
  assert.ok(Number(cents) > 0)
  await cost.filter({ hasText: '$0.20 an hour while it runs' }).waitFor()

  const small = await startDashboard(t, { env: { COMPUTER_SIGNUP_PLAN: 'free' } })
  const other = await openPage(t, small, '/?create=true')
  await other.getByText('It costs nothing on your plan.').waitFor()
  await other.getByRole('combobox', { name: 'Size' }).click()
  const beyond = other.getByRole('option', { name: 'large' })
  await beyond.filter({ hasText: 'does not have it' }).waitFor()
  assert.equal(await beyond.getAttribute('aria-disabled'), 'true')
})

test("the machines' costs add up to the bill, over time and by machine", async (t) => {
  const dashboard = await startUsedDashboard(t)
  const page = await openPage(t, dashboard, '/usage')
  const rows = page.getByRole('region', { name: 'Usage by machine' }).getByRole('row')
  await rows.filter({ hasText: 'All machines' }).waitFor()
  const cents = async (name: string) => {
    const text = await rows.filter({ hasText: name }).getByRole('cell').last().textContent()
    return Math.round(Number(text!.replace(/[$,]/g, '')) * 100)
  }
  const total = await cents('All machines')
  const names = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh']
  const shares = await Promise.all(names.map(cents))
  assert.equal(
    shares.reduce((sum, share) => sum + share),
    total,
  )
  // Some is included, so not every hour of every machine is in it.
  const { total_cents: bill } = await summaryOf(dashboard)
  assert.ok(Math.abs(bill - total) <= 1 && bill > 10_000, `${bill} and ${total}`)
  // What is included counts for the smaller sizes first.
  assert.ok(shares.slice(0, 6).every((share) => share > 0))

  await page.getByRole('combobox', { name: 'Sums' }).click()
  await page.getByRole('option', { name: 'By caller' }).click()
  const callers = page.getByRole('region', { name: 'Usage by caller' }).getByRole('row')
  await callers.filter({ hasText: 'All callers' }).waitFor()
  await callers.filter({ hasText: 'Ada Lovelace' }).waitFor()
  assert.equal(await callers.count(), 3)
  await page.getByRole('button', { name: 'Choose labels' }).click()
  const labelKeys = page.getByRole('textbox', { name: 'Keys of metadata' })
  await labelKeys.fill('team, team')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('must be different keys').waitFor()
  await labelKeys.fill('team, task')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await page.getByRole('combobox', { name: 'Sums' }).click()
  await page.getByRole('option', { name: 'By label team' }).click()
  const labels = page.getByRole('region', { name: 'Usage by label' }).getByRole('row')
  await labels.filter({ hasText: 'red' }).waitFor()
  await labels.filter({ hasText: 'Without the label' }).waitFor()
  await page.getByRole('combobox', { name: 'Sums' }).click()
  await page.getByRole('option', { name: 'By machine' }).click()
  await rows.filter({ hasText: 'All machines' }).waitFor()

  await page.getByRole('radio', { name: /^Large machines/ }).check({ force: true })
  await page.waitForURL(/meter=compute_large_seconds/)
  await page.getByText('Large machines, each day in UTC').waitFor()
  await page.getByText('Show as a table').click()
  const days = page.getByRole('region', { name: 'Large machines, each day' }).getByRole('row')
  assert.ok((await days.count()) > 20)
  await days.filter({ hasText: '144 h' }).first().waitFor()

  await rows.getByRole('link', { name: 'first' }).click()
  await page.waitForURL(/\/m\/.*\/usage/)
  const own = page.getByRole('region', { name: 'This billing period' })
  await own.getByText(/^\$[\d.,]+ of the/).waitFor()
  await own.getByRole('radio', { name: /^Large machines/ }).waitFor()
  assert.equal(await own.getByRole('radio', { name: /^Standard machines/ }).count(), 0)
  await page
    .locator('header')
    .getByText(/\$0\.20 an hour · \$[\d.,]+ in this period/)
    .waitFor()
})

test('billing shows the plan, the limits, the lines of the period, and who may change the plan', async (t) => {
  const dashboard = await startUsedDashboard(t)
  const page = await openPage(t, dashboard, '/billing')
  await page.getByText('This server collects no payments').waitFor()
  await page.getByRole('meter', { name: 'Running machines' }).waitFor()
  const meter = page.getByRole('meter', { name: 'Running machines' })
  assert.equal(await meter.getAttribute('aria-valuetext'), '7 of 30')
  const lines = page.getByRole('region', { name: 'Lines of the period' }).getByRole('row')
  const { lines: expected } = await summaryOf(dashboard)
  await lines.filter({ hasText: 'Large machines' }).waitFor()
  assert.equal(await lines.count(), expected.length + 2)
  const amounts = await lines.getByRole('cell').filter({ hasText: /^\$/ }).allTextContents()
  const numbers = amounts.map((text) => Math.round(Number(text.replace(/[$,]/g, '')) * 100))
  assert.equal(
    numbers.slice(0, -1).reduce((sum, amount) => sum + amount),
    numbers.at(-1),
  )
  await page.getByText('Your plan').waitFor()
  await page.getByText('$0.10 a standard-hour').waitFor()
  const choices = page.getByRole('button', { name: /^Choose / })
  assert.ok((await choices.count()) > 2)
  for (const { description } of await disabledControls(page)) assert.match(description, /operator/)

  await page.getByRole('link', { name: 'The period before' }).click()
  await page.waitForURL(/period=/)
  await page.getByRole('alert').waitFor()
  await page.getByRole('link', { name: 'The current period' }).click()
  await lines.filter({ hasText: 'Large machines' }).waitFor()

  const member = await addMember(dashboard, { email: 'grace@example.com', name: 'Grace Hopper' })
  const theirs = await openPage(t, dashboard, '/billing', { as: member })
  await theirs
    .getByRole('button', { name: /^Choose / })
    .first()
    .waitFor()
  for (const { description } of await disabledControls(theirs))
    assert.match(description, /^You may not change the plan/)
})

test('a fresh organization has no usage, and is told how to read it', async (t) => {
  const dashboard = await startDashboard(t)
  const page = await openPage(t, dashboard, '/usage?window=week')
  await page.getByRole('heading', { name: 'No usage in this time' }).waitFor()
  await page.getByText('computer usage --start').waitFor()
  await page.getByRole('combobox', { name: 'Time' }).click()
  await page.getByRole('option', { name: 'The period before' }).click()
  await page.getByRole('alert').waitFor()
})

test('every page tells of a payment that is due and of a plan that ends, and what happens when', async (t) => {
  const dashboard = await startDashboard(t, { env: { COMPUTER_SIGNUP_PLAN: 'free' } })
  const { db } = dashboard.server.app
  await sql`update billing_periods set plan_id = 'startup'`.execute(db)
  const id = (await dashboard.owner.call('GET', '/v1/billing')).body.organization_id
  const set = (change: StandingChange) =>
    db.transaction().execute((tx) => changeStanding(tx, id, change))
  const page = await openPage(t, dashboard, '/')
  const notice = page.getByRole('status').filter({ has: page.getByText('Plan and billing') })
  await page.getByRole('link', { name: 'Billing' }).waitFor()
  assert.equal(await notice.count(), 0)

  await set({ state: 'past_due' })
  for (const path of ['/', '/members', '/usage']) {
    await page.goto(dashboard.url + path)
    await notice.getByText(/A payment is due\. From .* machines cannot be created/).waitFor()
  }
  await sql`update billing_accounts set past_due_since = past_due_since - interval '8 days'`.execute(
    db,
  )
  await page.goto(dashboard.url)
  await notice.getByText(/A payment is due since .* until it is paid/).waitFor()
  await page.goto(`${dashboard.url}/?create=true`)
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
  await page
    .getByRole('alert')
    .getByText(/a payment is due since/)
    .waitFor()

  await set({ state: 'active' })
  await set({ state: 'canceled' })
  await page.goto(dashboard.url)
  await notice.getByText(/The plan was canceled and ends .* Their disks are kept/).waitFor()
  await notice.getByRole('link', { name: 'Plan and billing' }).click()
  await page.waitForURL(/\/billing$/)
  await page.getByText('Canceled', { exact: true }).waitFor()
  await set({ state: 'active' })
  await page.goto(dashboard.url)
  await page.getByRole('link', { name: 'Billing' }).waitFor()
  await page.waitForLoadState('networkidle')
  assert.equal(await notice.count(), 0)
})
