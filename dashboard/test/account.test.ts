import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Browser } from '../../server/test/browser.ts'
import { eventually } from '../../server/test/settled.ts'
import { closeBrowser, openPage, startDashboard } from './harness.ts'

after(closeBrowser)
const next = 'another good password'

test('a new password needs the present one, and signs out all other browsers', async (t) => {
  const dashboard = await startDashboard(t)
  const { owner } = dashboard
  const other = await owner.signInAgain()
  const page = await openPage(t, dashboard, '/account')
  const browsers = page.getByRole('list', { name: 'Browsers that are signed in' })
  await browsers.getByRole('listitem').nth(1).waitFor()
  await page.getByLabel('Current password', { exact: true }).fill('not this password')
  await page.getByLabel('New password', { exact: true }).fill(next)
  await page.getByRole('button', { name: 'Change the password' }).click()
  await page
    .getByRole('alert')
    .getByText(/password/)
    .waitFor()
  await page.getByRole('button', { name: 'Copy the request id' }).waitFor()
  assert.equal((await other.call('GET', '/v1/auth/me')).status, 200)

  await page.getByLabel('Current password', { exact: true }).fill(owner.password)
  await page.getByRole('button', { name: 'Change the password' }).click()
  await page.getByText('Your password is changed').waitFor()
  assert.equal(await page.getByLabel('New password', { exact: true }).inputValue(), '')
  await browsers.getByRole('listitem').nth(1).waitFor({ state: 'detached' })
  await ended(other)
  const login = { email: owner.email, password: next }
  assert.equal((await dashboard.server.anonymous('POST', '/v1/auth/login', login)).status, 200)
})

test('another browser is signed out, and this one', async (t) => {
  const dashboard = await startDashboard(t)
  const other = await dashboard.owner.signInAgain()
  const page = await openPage(t, dashboard, '/account')
  const browsers = page.getByRole('list', { name: 'Browsers that are signed in' })
  await browsers.getByRole('button', { name: /^Sign out \w/ }).click()
  const question = page.getByRole('dialog')
  await question.getByRole('button', { name: 'Sign out' }).click()
  // What is behind a dialog is hidden, and no list item has a role until it closes.
  await question.waitFor({ state: 'detached' })
  await browsers.getByRole('listitem').nth(1).waitFor({ state: 'detached' })
  await ended(other)

  await browsers.getByText('this browser').waitFor()
  await browsers.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL(/\/login/)
})

test('the chosen theme stays, and is there before the first paint', async (t) => {
  const dashboard = await startDashboard(t)
  const page = await openPage(t, dashboard, '/account', { theme: 'light' })
  const light = 'rgb(250, 250, 250)'
  const dark = 'rgb(15, 15, 18)'
  const background = (color: string) =>
    page.waitForFunction(
      (expected) => getComputedStyle(document.body).backgroundColor === expected,
      color,
    )
  await background(light)
  await page.getByRole('radio', { name: 'Dark' }).check()
  await background(dark)

  // Without the scripts of the application only what runs before the first paint has run.
  await page.route('**/assets/*.js', (route) =>
    route.fulfill({ contentType: 'text/javascript', body: '' }),
  )
  await page.goto(`${dashboard.url}/account`, { waitUntil: 'domcontentloaded' })
  await background(dark)
  assert.equal(await page.locator('#root > *').count(), 0)
  await page.unroute('**/assets/*.js')

  await page.reload()
  assert.ok(await page.getByRole('radio', { name: 'Dark' }).isChecked())
  await page.getByRole('radio', { name: 'Like the system' }).check()
  await background(light)
  await page.emulateMedia({ colorScheme: 'dark' })
  await background(dark)
})

test('an account is deleted with its password, and nothing is left of the session', async (t) => {
  const dashboard = await startDashboard(t)
  const page = await openPage(t, dashboard, '/account')
  await page.getByRole('button', { name: 'Delete your account' }).click()
  const dialog = page.getByRole('dialog')
  const password = dialog.getByLabel('Password', { exact: true })
  await password.fill('not this password')
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
  await dialog
    .getByRole('alert')
    .getByText(/password/)
    .waitFor()
  await password.fill(dashboard.owner.password)
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.waitForURL(/\/login/)
  const { email, password: old } = dashboard.owner
  const login = await dashboard.server.anonymous('POST', '/v1/auth/login', { email, password: old })
  assert.equal(login.status, 401)
})

/** The end of a session reaches every cache within a second. */
async function ended({ call }: Browser): Promise<void> {
  await eventually(async () => (await call('GET', '/v1/auth/me')).status === 401 || undefined)
}
