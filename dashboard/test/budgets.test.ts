import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { addMember } from './signing-in.ts'
import { disabledControls } from './spoken.ts'
import { createMachine } from './terminal-page.ts'

/* Budgets: made, shown with what is used, changed and deleted, and what they do to a machine. */

after(closeBrowser)

test('an owner makes, changes and deletes a budget; a member is told who may', async (t) => {
  const dashboard = await startDashboard(t)
  const { call } = dashboard.owner
  await call('PUT', '/v1/usage/labels', { keys: ['team'] })
  const page = await openPage(t, dashboard, '/billing')
  await page.getByText('A budget limits what the organization').waitFor()
  await page.getByRole('button', { name: 'New budget' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('red team')
  await dialog.getByRole('combobox', { name: 'For' }).click()
  await page.getByRole('option', { name: 'Label team' }).click()
  await dialog.getByLabel('Value of team').fill('red')
  await dialog.getByLabel('Amount').fill('nothing')
  await dialog.getByRole('combobox', { name: 'Counts' }).click()
  await page.getByRole('option', { name: 'Each week' }).click()
  await dialog.getByRole('combobox', { name: 'When nothing is left' }).click()
  await page.getByRole('option', { name: 'Refuse starts and stop machines' }).click()
  await dialog.getByLabel('Mail at percent').fill('50, 90')
  await dialog.getByRole('button', { name: 'Create the budget' }).click()
  // The message stands at the field that is wrong, and the typed text stays.
  await dialog.getByText(/must be a decimal string/).waitFor()
  await dialog.getByLabel('Amount').fill('12.505')
  await dialog.getByRole('button', { name: 'Create the budget' }).click()
  await dialog.waitFor({ state: 'hidden' })
  const list = page.getByRole('list', { name: 'Budgets' })
  await list.getByText('team = red · Each week · Refuse starts and stop machines').waitFor()
  const meter = page.getByRole('meter', { name: 'red team' })
  assert.equal(await meter.getAttribute('aria-valuetext'), '$0.00 of $12.51')
  const [made] = (await call('GET', '/v1/budgets')).body.data
  assert.deepEqual(
    [made.scope, made.limit, made.thresholds],
    [
      { type: 'label', label: { key: 'team', value: 'red' } },
      { type: 'list_price_cents', value: '1250.5' },
      [50, 90],
    ],
  )

  await page.getByRole('button', { name: 'Edit the budget red team' }).click()
  assert.equal(await dialog.getByLabel('Amount').inputValue(), '12.505')
  await dialog.getByLabel('Amount').fill('0.5')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await list.getByText('$0.00 of $0.50').waitFor()

  const member = await addMember(dashboard, { email: 'grace@example.com', name: 'Grace Hopper' })
  const theirs = await openPage(t, dashboard, '/billing', { as: member })
  await theirs.getByText('$0.00 of $0.50').waitFor()
  const names = ['New budget', 'Edit the budget red team', 'Delete the budget red team']
  const controls = await disabledControls(theirs)
  for (const name of names) {
    const control = controls.find((one) => one.name === name)
    assert.match(control?.description ?? '', /^You may not change the plan and the billing/, name)
  }

  await page.getByRole('button', { name: 'Delete the budget red team' }).click()
  await dialog.getByText('Machines that it stopped stay stopped').waitFor()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('A budget limits what the organization').waitFor()
})

test('a machine says when a budget will stop it and that it did, and starts again once it is raised', async (t) => {
  const dashboard = await startDashboard(t)
  const { call } = dashboard.owner
  const { id } = await createMachine(dashboard, 'agent')
  const limit = { type: 'standard_hours', value: '1' }
  const scope = { type: 'machine', machine_id: id }
  const budget = { name: 'nightly', limit, scope, window: 'once', action: 'stop' }
  const { body: made } = await call('POST', '/v1/budgets', budget)
  const page = await openPage(t, dashboard, `/m/${id}`)
  await page.getByText(/^The budget “nightly” will be used up .*, and stops this machine/).waitFor()
  const path = `/v1/budgets/${made.id}`
  await call('PATCH', path, { limit: { ...limit, value: '0.0005' } })
  const header = page.locator('header').filter({ hasText: 'agent' })
  const notice = page.getByText(
    /^Stopped by budget "nightly" \(bud_\w+\): 0\.0\d* of 0\.\d+ standard-hours/,
  )
  await notice.waitFor()
  const start = header.getByRole('button', { name: 'Start' })
  await start.and(page.locator('[aria-disabled=true]')).waitFor()
  const spoken = (await disabledControls(page)).find(({ name }) => name === 'Start')
  assert.match(spoken?.description ?? '', /^The budget “nightly” is used up\. Ask an owner/)

  // A page in another browser raises it.
  const other = await openPage(t, dashboard, '/billing')
  await other.getByText('Used up', { exact: true }).waitFor()
  await other.getByRole('button', { name: 'Edit the budget nightly' }).click()
  await other.getByRole('dialog').getByLabel('Standard-hours').fill('5')
  await other.getByRole('button', { name: 'Save' }).click()
  await other.getByText(/of 5 standard-hours/).waitFor()
  await start.and(page.locator(':not([aria-disabled=true])')).waitFor()
  await start.click()
  await header.getByRole('button', { name: 'Stop' }).waitFor()
  await notice.waitFor({ state: 'hidden' })
})
