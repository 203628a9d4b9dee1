import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { closeBrowser, openPage, startDashboard, type Dashboard } from './harness.ts'
import { fillSignIn, pathOf, switcher } from './signing-in.ts'

after(closeBrowser)

const organization = "Ada Lovelace's organization"
const email = 'grace@example.com'

test('the invited person joins with one button, and acts in the organization', async (t) => {
  const dashboard = await startDashboard(t)
  const grace = await dashboard.server.signUp({ email, name: 'Grace Hopper' })
  const { path } = await invite(dashboard)
  const page = await openPage(t, dashboard, path, { as: grace })
  await page.getByRole('heading', { name: `Join ${organization}` }).waitFor()
  const text = (await page.getByRole('main').textContent()) ?? ''
  assert.match(text, /Ada Lovelace invites you/)
  assert.match(text, /Your role\s*Admin/)
  assert.match(text, /For\s*grace@example\.com/)
  assert.equal(new URL(page.url()).hash, '')
  await page.getByRole('button', { name: `Join ${organization}` }).click()
  await page.waitForURL(`${dashboard.url}/`)
  await switcher(page, organization).getByText('admin').waitFor()

  // The link works once, and says what has become of it.
  await page.goto(dashboard.url + path)
  await page.getByRole('heading', { name: 'This invitation was accepted' }).waitFor()
})

test('somebody else signs out, signs in with the right account and comes back', async (t) => {
  const dashboard = await startDashboard(t)
  await dashboard.server.signUp({ email, name: 'Grace Hopper' })
  const { path } = await invite(dashboard)
  const page = await openPage(t, dashboard, path)
  await page.getByText(/signed in as ada@example\.com.*account of grace@example\.com/).waitFor()
  assert.equal(await page.getByRole('button', { name: /^Join/ }).count(), 0)
  await page.getByRole('button', { name: 'Sign out and return' }).click()
  await page.getByRole('link', { name: 'Sign in and come back' }).click()
  await page.waitForURL(/\/login\?next=%2Faccept-invitation$/)
  await fillSignIn(page, { email, password: dashboard.owner.password })
  await page.getByRole('button', { name: `Join ${organization}` }).click()
  await switcher(page, organization).getByText('admin').waitFor()
})

test('a new person makes an account for the invited email, and is in', async (t) => {
  const dashboard = await startDashboard(t)
  Object.assign(dashboard.server.app.config, { signup: 'closed' })
  const { path } = await invite(dashboard)
  const page = await openPage(t, dashboard, path, { as: null })
  const field = page.getByLabel('Email')
  assert.equal(await field.inputValue(), email)
  assert.equal(await field.evaluate((one: HTMLInputElement) => one.readOnly), true)
  await page.getByLabel('Name').fill('Grace Hopper')
  await page.getByLabel('Password', { exact: true }).fill('correct horse battery')
  await page.getByRole('button', { name: 'Create account and join' }).click()
  await switcher(page, organization).getByText('admin').waitFor()
})

test('whoever has an account already is told to sign in', async (t) => {
  const dashboard = await startDashboard(t)
  await dashboard.server.signUp({ email, name: 'Grace Hopper' })
  const { path } = await invite(dashboard)
  const page = await openPage(t, dashboard, path, { as: null })
  await page.getByLabel('Name').fill('Grace Hopper')
  await page.getByLabel('Password', { exact: true }).fill('another good password')
  await page.getByRole('button', { name: 'Create account and join' }).click()
  const alert = page.getByRole('alert')
  await alert.getByText(/already has an account/).waitFor()
  await alert.getByRole('link', { name: 'Sign in and come back' }).click()
  await page.waitForURL(/\/login/)
})

test('a link that has ended names whom to ask for a new one', async (t) => {
  const dashboard = await startDashboard(t)
  const revoked = await invite(dashboard)
  await dashboard.owner.call('DELETE', `/v1/invitations/${revoked.id}`)
  const page = await openPage(t, dashboard, revoked.path, { as: null })
  await page.getByRole('heading', { name: 'This invitation has ended' }).waitFor()
  await page.getByText(/to Ada Lovelace's organization was revoked/).waitFor()
  await page.getByText(/Ask Ada Lovelace, who sent it,.*for a new one/).waitFor()

  const expired = await invite(dashboard)
  await dashboard.server.app.db
    .updateTable('invitations')
    .set({ expires_at: sql`now()` })
    .where('id', '=', expired.id)
    .execute()
  await page.goto(dashboard.url + expired.path)
  await page.getByText(/ended on/).waitFor()
  await page.getByText(/Ask Ada Lovelace, who sent it,.*for a new one/).waitFor()

  await page.goto(`${dashboard.url}/accept-invitation#token=computer_invitation_x`)
  await page.getByRole('heading', { name: 'This link does not work' }).waitFor()
  await page.getByText('The person who invited you can send a new link').waitFor()
  await page.getByRole('button', { name: 'Copy the request id' }).waitFor()
})

test('a link that ends while its page is open says so', async (t) => {
  const dashboard = await startDashboard(t)
  const grace = await dashboard.server.signUp({ email, name: 'Grace Hopper' })
  const { id, path } = await invite(dashboard)
  const page = await openPage(t, dashboard, path, { as: grace })
  const join = page.getByRole('button', { name: `Join ${organization}` })
  await join.waitFor()
  await dashboard.owner.call('DELETE', `/v1/invitations/${id}`)
  await join.click()
  await page.getByRole('heading', { name: 'This invitation has ended' }).waitFor()
})

test('whoever is a member already is told so, and goes on', async (t) => {
  const dashboard = await startDashboard(t)
  const grace = await dashboard.server.signUp({ email, name: 'Grace Hopper' })
  const { path } = await invite(dashboard)
  const { organization_id } = (await dashboard.owner.call('GET', '/v1/invitations')).body.data[0]
  await dashboard.server.app.db
    .insertInto('memberships')
    .values({ id: `mem_${'0'.repeat(26)}`, organization_id, user_id: grace.id, role: 'member' })
    .execute()
  const page = await openPage(t, dashboard, path, { as: grace })
  await page.getByRole('button', { name: `Join ${organization}` }).click()
  const alert = page.getByRole('alert')
  await alert.getByText(/already a member/).waitFor()
  await alert.getByRole('link', { name: 'Go to your machines' }).click()
  await switcher(page, "Grace Hopper's organization").waitFor()
})

async function invite({ owner }: Dashboard) {
  const { body } = await owner.call('POST', '/v1/invitations', { email, role: 'admin' })
  return { id: body.id as `inv_${string}`, path: pathOf(body.accept_url) }
}
