import { after, test } from 'node:test'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { switcher } from './signing-in.ts'

after(closeBrowser)
const home = "Ada Lovelace's organization"

test('the switcher makes an organization and changes between them, in all tabs', async (t) => {
  const dashboard = await startDashboard(t)
  await dashboard.owner.call('POST', '/v1/machines', { name: 'at-home', start: false })
  const page = await openPage(t, dashboard, '/')
  const other = await page.context().newPage()
  await other.goto(dashboard.url)
  for (const tab of [page, other]) await tab.getByRole('link', { name: 'at-home' }).waitFor()

  await switcher(page, home).click()
  await page.getByRole('menuitem', { name: home }).getByText('owner').waitFor()
  await page.getByRole('menuitem', { name: 'Create an organization' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('Second office')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  for (const tab of [page, other]) {
    await switcher(tab, 'Second office').getByText('owner').waitFor()
    await tab.getByRole('heading', { name: 'No machines yet' }).waitFor()
  }

  await switcher(other, 'Second office').click()
  await other.getByRole('menuitem', { name: home }).click()
  for (const tab of [page, other]) await tab.getByRole('link', { name: 'at-home' }).waitFor()
})

test('a tab that missed the switch compares on focus, and begins afresh', async (t) => {
  const dashboard = await startDashboard(t)
  const { call } = dashboard.owner
  await call('POST', '/v1/machines', { name: 'at-home', start: false })
  const { body } = await call('POST', '/v1/organizations', { name: 'Second office' })
  const page = await openPage(t, dashboard, '/')
  await page.getByRole('link', { name: 'at-home' }).waitFor()
  // The same session, as a browser that sends no messages between tabs.
  await call('POST', '/v1/auth/switch-organization', { organization_id: body.id })
  const reloaded = page.waitForEvent('framenavigated')
  await page.evaluate(() => window.dispatchEvent(new Event('focus')))
  await reloaded
  await switcher(page, 'Second office').waitFor()
  await page.getByRole('heading', { name: 'No machines yet' }).waitFor()
})

test('the limit of organizations is explained, and keyboards reach the switcher', async (t) => {
  const dashboard = await startDashboard(t, { env: { COMPUTER_ORGANIZATIONS_PER_USER: '1' } })
  const page = await openPage(t, dashboard, '/')
  await switcher(page, home).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem', { name: 'Create an organization' }).waitFor()
  await page.keyboard.press('End')
  await page.keyboard.press('Enter')
  await page.locator('input[name=name]:focus').waitFor()
  await page.keyboard.type('One more')
  await page.keyboard.press('Enter')
  const alert = page.getByRole('alert')
  await alert.getByText(/own/).waitFor()
  await alert.getByRole('button', { name: 'Copy the request id' }).waitFor()
})
