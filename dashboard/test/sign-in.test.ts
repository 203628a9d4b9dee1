import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventually } from '../../server/test/settled.ts'
import { startSmtpServer } from '../../server/test/smtp-server.ts'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { tabTo } from './keyboard.ts'
import { fillSignIn, pathOf, printLink, switcher } from './signing-in.ts'

after(closeBrowser)
const password = 'correct horse battery'

test('the first link of a server makes the first account, the owner of its organization', async (t) => {
  const dashboard = await startDashboard(t)
  const link = await printLink(dashboard)
  const page = await openPage(t, dashboard, link, { as: null })
  await page.getByText('You become the owner of Home').waitFor()
  await page.waitForFunction(() => location.hash === '')
  // The token is not in the address, and a reload does not lose it.
  await page.reload()
  await page.getByLabel('Name').fill('Grace Hopper')
  await page.getByLabel('Email').fill(dashboard.owner.email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page
    .getByRole('alert')
    .getByText(/already has an account/)
    .waitFor()
  await page.getByLabel('Email').fill('grace@example.com')
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.waitForURL(`${dashboard.url}/`)
  await switcher(page, 'Home').getByText('owner').waitFor()

  // It worked once.
  await page.goto(dashboard.url + link)
  await page.getByRole('heading', { name: 'This link does not work' }).waitFor()
  await page.getByText('computer admin login-link', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Copy the request id' }).waitFor()
})

test('a sign-in link replaces the person who is signed in, in all tabs', async (t) => {
  const dashboard = await startDashboard(t)
  await dashboard.server.signUp({ email: 'grace@example.com', name: 'Grace Hopper' })
  const page = await openPage(t, dashboard, '/keys')
  const other = await page.context().newPage()
  await other.goto(dashboard.url + (await printLink(dashboard, 'grace@example.com')))
  await other.getByText('This browser is signed in as ada@example.com').waitFor()
  await other.getByRole('button', { name: 'Sign in as Grace Hopper' }).click()
  await other.waitForURL(`${dashboard.url}/`)
  await switcher(other, "Grace Hopper's organization").waitFor()
  await switcher(page, "Grace Hopper's organization").waitFor()
  assert.equal(new URL(page.url()).pathname, '/keys')
})

test('a link that ends while its page is open says so', async (t) => {
  const dashboard = await startDashboard(t)
  const link = await printLink(dashboard, dashboard.owner.email)
  const page = await openPage(t, dashboard, link, { as: null })
  const button = page.getByRole('button', { name: 'Sign in as Ada Lovelace' })
  await button.waitFor()
  const token = link.split('#token=')[1]
  await dashboard.server.anonymous('POST', '/v1/auth/login-link', { token })
  await button.click()
  await page.getByRole('heading', { name: 'This link does not work' }).waitFor()
})

test('a person signs up', async (t) => {
  const dashboard = await startDashboard(t)
  const page = await openPage(t, dashboard, '/', { as: null })
  await page.waitForURL(/\/login$/)
  await page.getByRole('link', { name: 'Sign up' }).click()
  await page.getByLabel('Name').fill('Grace Hopper')
  await page.getByLabel('Email').fill('grace@example.com')
  const field = page.getByLabel('Password', { exact: true })
  await field.fill('short')
  await page.getByRole('button', { name: 'Create account' }).click()
  assert.equal(await field.evaluate((one: HTMLInputElement) => one.validity.tooShort), true)
  await field.fill(password)
  await page.getByRole('button', { name: 'Create account' }).click()
  await switcher(page, "Grace Hopper's organization").waitFor()
})

test('closed sign-up is explained in the words of the server', async (t) => {
  const dashboard = await startDashboard(t)
  Object.assign(dashboard.server.app.config, { signup: 'closed' })
  const page = await openPage(t, dashboard, '/signup', { as: null })
  await page.getByLabel('Name').fill('Grace')
  await page.getByLabel('Email').fill('grace@example.com')
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page
    .getByRole('alert')
    .getByText(/sign-up is closed on this server/)
    .waitFor()
})

test('a wrong password is refused in the words of the server; then `next` is followed', async (t) => {
  const dashboard = await startDashboard(t)
  const page = await openPage(t, dashboard, '/m/mch_1/files?path=%2Ftmp', { as: null })
  await page.waitForURL(/\/login\?next=/)
  await fillSignIn(page, { ...dashboard.owner, password: 'not this password' })
  const alert = page.getByRole('alert')
  await alert.getByText(/wrong|incorrect/).waitFor()
  assert.match((await alert.textContent()) ?? '', /Request req_\w+/)
  await alert.getByRole('link', { name: 'set a new password' }).waitFor()
  await fillSignIn(page, dashboard.owner)
  await page.waitForURL(`${dashboard.url}/m/mch_1/files?path=%2Ftmp`)
})

test('`next` leads to no other site', async (t) => {
  const dashboard = await startDashboard(t)
  const page = await openPage(t, dashboard, '/login?next=%2F%5Cevil.example', { as: null })
  await fillSignIn(page, dashboard.owner)
  await page.waitForURL(`${dashboard.url}/`)
  await switcher(page, "Ada Lovelace's organization").waitFor()
  const places = [
    '//evil.example',
    'https://evil.example/',
    '/./\\evil.example',
    '/.//evil.example',
    '/\t/evil.example',
    'javascript:alert(1)',
    'evil.example',
  ]
  for (const next of places) {
    await page.goto(`${dashboard.url}/login?next=${encodeURIComponent(next)}`)
    await page.waitForURL((url) => url.pathname !== '/login')
    assert.equal(page.url(), `${dashboard.url}/`, next)
  }
  await page.goto(`${dashboard.url}/login?next=%2Fmembers`)
  await page.waitForURL(`${dashboard.url}/members`)
})

test('sign-in and sign-out work by keyboard alone, and sign-out reaches the other tabs', async (t) => {
  const dashboard = await startDashboard(t)
  const page = await openPage(t, dashboard, '/members', { as: null })
  await page.waitForURL(/\/login/)
  const { keyboard } = page
  await page.locator('input[name=email]:focus').waitFor()
  await keyboard.type(dashboard.owner.email)
  await keyboard.press('Tab')
  await keyboard.type(dashboard.owner.password)
  await keyboard.press('Enter')
  await page.waitForURL(/\/members$/)
  const other = await page.context().newPage()
  await other.goto(`${dashboard.url}/keys`)
  await switcher(other, "Ada Lovelace's organization").waitFor()

  await tabTo(page, page.getByRole('button', { name: 'Ada Lovelace', exact: true }))
  await keyboard.press('Enter')
  await page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
  await keyboard.press('End')
  await keyboard.press('Enter')
  await page.waitForURL(/\/login$/)
  await other.waitForURL(/\/login\?next=%2Fkeys$/)
})

test('a forgotten password is replaced through the mail', async (t) => {
  const { letters, url } = await startSmtpServer(t)
  const dashboard = await startDashboard(t, { env: { COMPUTER_SMTP_URL: url } })
  const page = await openPage(t, dashboard, '/login', { as: null })
  await page.getByRole('link', { name: 'Forgotten your password?' }).click()
  // The page of the sign-in, which stays until the next one has loaded, has a field of that name too.
  await page.getByRole('heading', { name: 'Forgotten password' }).waitFor()
  await page.getByLabel('Email').fill(dashboard.owner.email)
  await page.getByRole('button', { name: 'Send the link' }).click()
  await page.getByRole('heading', { name: 'Look into your mail' }).waitFor()
  await page.getByText('If ada@example.com has an account here').waitFor()
  const letter = await eventually(async () => letters[0])
  const link = pathOf(/http\S+#token=\S+/.exec(letter.body)![0])

  await page.goto(dashboard.url + link)
  await page.waitForFunction(() => location.hash === '')
  await page.getByLabel('New password', { exact: true }).fill('another good password')
  await page.getByRole('button', { name: 'Set the password' }).click()
  await page.getByRole('heading', { name: 'Your password is set' }).waitFor()
  await page.getByRole('button', { name: 'Sign in' }).click()
  await fillSignIn(page, { email: dashboard.owner.email, password: 'another good password' })
  await page.waitForURL(`${dashboard.url}/`)

  await page.goto(dashboard.url + link)
  await page.getByLabel('New password', { exact: true }).fill('a third good password')
  await page.getByRole('button', { name: 'Set the password' }).click()
  await page.getByRole('heading', { name: 'This link does not work' }).waitFor()
  await page.getByRole('link', { name: 'Ask for a new link' }).waitFor()
})

test('where no mail is sent, the page names what the operator can do', async (t) => {
  const dashboard = await startDashboard(t)
  const page = await openPage(t, dashboard, '/forgot-password', { as: null })
  await page.getByLabel('Email').fill('ada@example.com')
  await page.getByRole('button', { name: 'Send the link' }).click()
  const alert = page.getByRole('alert')
  await alert.getByText('computer admin login-link --email ada@example.com').waitFor()
  await alert.getByRole('button', { name: 'Copy the request id' }).waitFor()
})
