import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { closeBrowser, openPage, startDashboard } from './harness.ts'

after(closeBrowser)

test('a new organization begins with the page that says how, and has a machine after two clicks', async (t) => {
  const dashboard = await startDashboard(t)
  const page = await openPage(t, dashboard, '/')
  await page.getByRole('heading', { name: 'No machines yet' }).waitFor()
  await page.getByText('computer create --name first').waitFor()

  await page.getByRole('button', { name: 'Create a machine' }).click()
  await page.getByRole('button', { name: 'Create', exact: true }).click()

  await page.waitForURL(/\/m\/mch_/)
  await page.getByText('Running', { exact: true }).waitFor()
  const { body } = await dashboard.owner.call('GET', '/v1/machines')
  assert.equal(body.data.length, 1)
  assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), body.data[0].name)
})

test('a refused name is explained at its field, and nothing that was typed is lost', async (t) => {
  const dashboard = await startDashboard(t)
  await dashboard.owner.call('POST', '/v1/machines', { name: 'taken', start: false })
  const page = await openPage(t, dashboard, '/?create=true')
  const name = page.getByLabel('Name', { exact: true })
  await name.fill('Not Allowed')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  assert.equal(await name.evaluate((field: HTMLInputElement) => field.validity.valid), false)

  await name.fill('taken')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('alert').getByText(/taken/).waitFor()
  await page.getByRole('button', { name: 'Copy the request id' }).waitFor()
  assert.equal(await name.inputValue(), 'taken')
})

test('a limit of the plan is shown by its numbers', async (t) => {
  const dashboard = await startDashboard(t, { env: { COMPUTER_SIGNUP_PLAN: 'free' } })
  await dashboard.owner.call('POST', '/v1/machines', { name: 'only', start: false })
  const page = await openPage(t, dashboard, '/?create=true')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  const alert = page.getByRole('alert')
  await alert.getByText('The plan free includes 1 machines, and 1 are in use.').waitFor()
})

test('a bulk action reaches what it may, names the rest, and keeps filter and selection', async (t) => {
  const dashboard = await startDashboard(t)
  const { call } = dashboard.owner
  await call('POST', '/v1/machines', { name: 'bulk-runs' })
  await call('POST', '/v1/machines', { name: 'bulk-stopped', start: false })
  const refused = await call('POST', '/v1/machines', { name: 'bulk-refused' })
  await call('POST', '/v1/machines', { name: 'other', start: false })
  const page = await openPage(t, dashboard, '/?search=bulk&view=list')
  // The server refuses one of them, as it would for a machine that has changed meanwhile.
  await page.route(`**/v1/machines/${refused.body.id}/stop**`, (route) =>
    route.fulfill({
      status: 409,
      json: { error: { code: 'conflict', message: 'the machine moved', request_id: 'req_1' } },
    }),
  )
  await page.getByRole('checkbox', { name: 'Select all that are loaded' }).click()
  await page.getByText('3 selected').waitFor()
  await page.getByRole('button', { name: 'Stop', exact: true }).click()

  const report = page.getByRole('dialog', { name: '1 machine stopping' })
  await report.getByText('the machine moved').waitFor()
  const text = (await report.textContent()) ?? ''
  assert.match(text, /bulk-refused.*the machine moved/)
  assert.match(text, /bulk-stopped.*It is stopped, from where it cannot stop/)
  assert.doesNotMatch(text, /bulk-runs/)
  await report.getByRole('button', { name: 'Close' }).last().click()
  await page.getByText('3 selected').waitFor()
  assert.equal(new URL(page.url()).search, '?search=bulk&view=list')
  await page
    .getByRole('row', { name: /bulk-runs/ })
    .getByText('Stopped')
    .waitFor()
})

test('the list is worked by keyboard alone', async (t) => {
  const dashboard = await startDashboard(t)
  for (const name of ['one', 'two', 'three'])
    await dashboard.owner.call('POST', '/v1/machines', { name, start: false })
  const page = await openPage(t, dashboard, '/?view=list')
  await page.getByRole('link', { name: 'three' }).waitFor()
  const focused = () => page.evaluate(() => document.activeElement?.textContent)
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  assert.equal(await focused(), 'two')
  await page.keyboard.press('k')
  assert.equal(await focused(), 'three')
  await page.keyboard.press('x')
  await page.getByText('1 selected').waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('tw')
  await page.waitForURL(/search=tw/)
  await page.getByRole('link', { name: 'three' }).waitFor({ state: 'detached' })
  await page.keyboard.press('Tab')
  await page.keyboard.press('g')
  await page.keyboard.press('k')
  await page.waitForURL(/\/keys$/)
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: /Search pages/ }).fill('two')
  await page.getByRole('option', { name: /two/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'two' }).waitFor()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('9')
  await page.waitForURL(/\/settings$/)
})

test('a machine changes on the page when it changes, without a reload', async (t) => {
  const dashboard = await startDashboard(t)
  const { call } = dashboard.owner
  const { body } = await call('POST', '/v1/machines', { name: 'alone', start: false })
  const page = await openPage(t, dashboard, '/')
  await page.getByText('Stopped', { exact: true }).first().waitFor()
  await call('POST', `/v1/machines/${body.id}/start`)
  await page.getByText('Running', { exact: true }).waitFor()
  await call('PATCH', `/v1/machines/${body.id}`, { name: 'renamed' })
  await page.getByRole('link', { name: 'renamed' }).waitFor()
  await call('POST', '/v1/machines', { name: 'second' })
  await page.getByRole('link', { name: 'second' }).waitFor()
  await call('DELETE', `/v1/machines/${body.id}`)
  await page.getByRole('link', { name: 'renamed' }).waitFor({ state: 'detached' })
  assert.equal(await page.locator('[data-row]').count(), 1)
})

test('a machine of another organization offers the organizations where it may be', async (t) => {
  const dashboard = await startDashboard(t)
  const { call } = dashboard.owner
  const machine = await call('POST', '/v1/machines', { name: 'at-home', start: false })
  const other = await call('POST', '/v1/organizations', { name: 'Second office' })
  await call('POST', '/v1/auth/switch-organization', { organization_id: other.body.id })
  const page = await openPage(t, dashboard, `/m/${machine.body.id}`)
  await page.getByRole('heading', { name: /no such machine in Second office/ }).waitFor()
  await page.getByRole('button', { name: /Look in Ada/ }).click()
  await page.getByRole('heading', { name: 'at-home' }).waitFor()
})
