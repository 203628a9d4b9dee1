import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { startSmtpServer } from '../../server/test/smtp-server.ts'
import { eventually } from '../../server/test/settled.ts'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { tabTo } from './keyboard.ts'
import { addMember, switcher } from './signing-in.ts'
import { disabledControls } from './spoken.ts'

after(closeBrowser)
const grace = { email: 'grace@example.com', name: 'Grace Hopper' }
const clipboard = { permissions: ['clipboard-read', 'clipboard-write'] }

test('an invitation has a link to copy, and can be revoked', async (t) => {
  const dashboard = await startDashboard(t)
  const page = await openPage(t, dashboard, '/members', { context: clipboard })
  await page.getByText('Nobody is invited at the moment.').waitFor()
  await page.getByRole('button', { name: 'Invite' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Email').fill(grace.email)
  await dialog.getByRole('radio', { name: 'Admin' }).check()
  await dialog.getByRole('button', { name: 'Invite' }).click()
  await page.getByRole('dialog', { name: 'The invitation is made' }).waitFor()
  await dialog.getByText('grace@example.com can join as an admin until').waitFor()
  await dialog.getByRole('button', { name: 'Copy link of the invitation' }).click()
  await dialog.getByRole('button', { name: 'Copied' }).waitFor()
  const link = await page.evaluate(() => navigator.clipboard.readText())
  assert.ok(link.startsWith(`${dashboard.url}/accept-invitation#token=`), link)
  await dialog.getByRole('button', { name: 'Done' }).click()

  const row = page.getByRole('row', { name: /grace@example\.com Admin/ })
  await row.getByRole('button', { name: 'Revoke the invitation of grace@example.com' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('Nobody is invited at the moment.').waitFor()
  await page.goto(link)
  await page.getByRole('heading', { name: 'This invitation has ended' }).waitFor()
})

test('an invitation is mailed as well where the server sends mail', async (t) => {
  const { letters, url } = await startSmtpServer(t)
  const dashboard = await startDashboard(t, { env: { COMPUTER_SMTP_URL: url } })
  const page = await openPage(t, dashboard, '/members')
  await page.getByRole('button', { name: 'Invite' }).click()
  await page.getByRole('dialog').getByLabel('Email').fill(grace.email)
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'The invitation is made' }).waitFor()
  const letter = await eventually(async () => letters[0])
  const mailed = /http\S+#token=\S+/.exec(letter.body)![0]
  await page.getByRole('dialog').getByText(mailed).waitFor()
})

test('a person is invited by keyboard alone', async (t) => {
  const dashboard = await startDashboard(t)
  const page = await openPage(t, dashboard, '/members')
  await tabTo(page, page.getByRole('button', { name: 'Invite' }))
  await page.keyboard.press('Enter')
  await page.locator('input[name=email]:focus').waitFor()
  await page.keyboard.type(grace.email)
  await page.keyboard.press('Tab')
  await page.keyboard.press('ArrowDown')
  assert.ok(await page.getByRole('radio', { name: 'Admin' }).isChecked())
  await tabTo(page, page.getByRole('dialog').getByRole('button', { name: 'Invite' }))
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'The invitation is made' }).waitFor()
  await tabTo(page, page.getByRole('button', { name: 'Done' }))
  await page.keyboard.press('Enter')
  await page.getByRole('row', { name: /grace@example\.com Admin/ }).waitFor()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  // The focus is back where it began.
  await page.locator('button:focus', { hasText: 'Invite' }).waitFor()
})

test('refusals of an invitation are the words of the server, and the field stays filled', async (t) => {
  const dashboard = await startDashboard(t)
  const page = await openPage(t, dashboard, '/members')
  await page.getByRole('button', { name: 'Invite' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Email').fill(dashboard.owner.email)
  await dialog.getByRole('button', { name: 'Invite' }).click()
  const alert = dialog.getByRole('alert')
  await alert.getByText(/a member of this organization already has this email/).waitFor()
  await alert.getByRole('button', { name: 'Copy the request id' }).waitFor()
  assert.equal(await dialog.getByLabel('Email').inputValue(), dashboard.owner.email)
})

test('a role is changed and a member removed, after a question', async (t) => {
  const dashboard = await startDashboard(t)
  const member = await addMember(dashboard, grace)
  const page = await openPage(t, dashboard, '/members')
  const row = page.getByRole('row', { name: /Grace Hopper/ })
  await row.getByRole('combobox', { name: 'Role of Grace Hopper' }).click()
  await page.getByRole('option', { name: /^Admin/ }).click()
  const question = page.getByRole('dialog', { name: 'Make Grace Hopper an admin' })
  await question.getByText(/also for the API keys that they made/).waitFor()
  await question.getByRole('button', { name: 'Change the role' }).click()
  await page.getByText('Grace Hopper is an admin now').waitFor()
  await row.getByRole('combobox').getByText('Admin').waitFor()
  assert.equal((await member.call('GET', '/v1/auth/me')).body.role, 'admin')

  await row.getByRole('button', { name: 'Remove Grace Hopper' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByText('Grace Hopper is no longer a member').waitFor()
  await page.getByRole('dialog', { name: 'Remove Grace Hopper' }).waitFor({ state: 'detached' })
  await row.waitFor({ state: 'detached' })
  const { body } = await dashboard.owner.call('GET', '/v1/members')
  assert.equal(body.data.length, 1)
})

test('the last owner cannot step down, and is told why', async (t) => {
  const dashboard = await startDashboard(t)
  const page = await openPage(t, dashboard, '/members')
  await page.getByRole('combobox', { name: 'Role of Ada Lovelace' }).click()
  await page.getByRole('option', { name: /^Member/ }).click()
  const question = page.getByRole('dialog', { name: 'Become a member' })
  await question.getByRole('button', { name: 'Change the role' }).click()
  await question.getByRole('alert').getByText(/owner/).waitFor()
  await question.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('combobox').getByText('Owner').waitFor()
})

test('the audit log names actor, target, address and outcome, and is filtered by type', async (t) => {
  const dashboard = await startDashboard(t)
  await addMember(dashboard, grace, 'admin')
  const page = await openPage(t, dashboard, '/audit')
  const invited = page.getByRole('row', { name: /^.*Invitation\s?as admin/ })
  const text = (await invited.textContent()) ?? ''
  assert.match(text, /Ada Lovelace\s*person\s*grace@example\.com\s*invitation\s*10\..*Done/)

  await page.getByRole('combobox', { name: 'Type' }).click()
  await page.getByRole('option', { name: 'New member', exact: true }).click()
  await page.waitForURL(/\?type=member\.added$/)
  const joined = page.getByRole('row', { name: /New member.*Grace Hopper/ })
  await invited.waitFor({ state: 'detached' })
  await joined.waitFor()
  assert.equal(await page.getByRole('row').count(), 2)
  await page.reload()
  await joined.waitFor()
  await page.getByRole('combobox', { name: 'Type' }).getByText('New member').waitFor()
  assert.equal(await page.getByRole('row').count(), 2)

  await page.goto(`${dashboard.url}/audit?type=api_key.created`)
  await page.getByText('No entry is of this type.').waitFor()
})

test('the organization is renamed, and the switcher follows', async (t) => {
  const dashboard = await startDashboard(t)
  const page = await openPage(t, dashboard, '/settings')
  const name = page.getByLabel('Name of the organization')
  const rename = page.getByRole('button', { name: 'Rename' })
  assert.equal(await rename.getAttribute('aria-disabled'), 'true')
  await name.fill('Analytical Engines')
  await rename.click()
  await switcher(page, 'Analytical Engines').waitFor()
  await page.getByText('The organization is called Analytical Engines now').waitFor()
})

test('a member leaves, and acts in an organization of their own', async (t) => {
  const dashboard = await startDashboard(t)
  const member = await addMember(dashboard, grace)
  const page = await openPage(t, dashboard, '/settings', { as: member })
  await page.getByRole('button', { name: 'Leave the organization' }).click()
  const question = page.getByRole('dialog', { name: "Leave Ada Lovelace's organization" })
  await question.getByRole('button', { name: 'Leave', exact: true }).click()
  await switcher(page, "Grace Hopper's organization").waitFor()
  const { body } = await dashboard.owner.call('GET', '/v1/members')
  assert.equal(body.data.length, 1)
})

test('the last owner cannot leave, and an organization is deleted by its name', async (t) => {
  const dashboard = await startDashboard(t)
  const { call } = dashboard.owner
  const second = await call('POST', '/v1/organizations', { name: 'Second office' })
  await call('POST', '/v1/auth/switch-organization', { organization_id: second.body.id })
  await addMember(dashboard, grace)
  const page = await openPage(t, dashboard, '/settings')
  await page.getByRole('button', { name: 'Leave the organization' }).click()
  const leave = page.getByRole('dialog', { name: 'Leave Second office' })
  await leave.getByRole('button', { name: 'Leave', exact: true }).click()
  await leave.getByRole('alert').getByText(/owner/).waitFor()
  await leave.getByRole('button', { name: 'Cancel' }).click()

  await page.getByRole('button', { name: 'Delete the organization' }).click()
  const question = page.getByRole('dialog', { name: 'Delete Second office' })
  const [denied] = await disabledControls(page)
  assert.deepEqual(denied, {
    role: 'button',
    name: 'Delete',
    description: 'Type Second office first.',
  })
  await question.getByLabel('Type Second office to confirm').fill('Second office')
  await question.getByRole('button', { name: 'Delete', exact: true }).click()
  await switcher(page, "Ada Lovelace's organization").waitFor()
})

test('whatever a member may not do is disabled, with a reason that is spoken', async (t) => {
  const dashboard = await startDashboard(t)
  await dashboard.owner.call('POST', '/v1/invitations', { email: 'bob@example.com' })
  await dashboard.owner.call('POST', '/v1/api-keys', { name: 'ci', scopes: ['machines:read'] })
  const member = await addMember(dashboard, grace)
  const page = await openPage(t, dashboard, '/members', { as: member })
  await page.getByRole('row', { name: /bob@example\.com/ }).waitFor()
  await page
    .getByRole('row', { name: /Ada Lovelace/ })
    .first()
    .waitFor()
  const members = "You may not invite, change and remove members in Ada Lovelace's organization."
  const keys = "You may not manage API keys and webhooks in Ada Lovelace's organization."
  const rest = ' Ask one of its owners or admins.'
  assert.deepEqual(await disabledNames(page, members + rest), [
    'button Invite',
    'button Remove Ada Lovelace',
    'button Revoke the invitation of bob@example.com',
    'combobox Role of Ada Lovelace',
    'combobox Role of Grace Hopper',
  ])
  // A press changes nothing.
  const press = { force: true }
  await page.getByRole('button', { name: 'Invite', exact: true }).click(press)
  await page.getByRole('combobox', { name: 'Role of Ada Lovelace' }).click(press)
  await page.keyboard.press('Enter')
  await nextFrames(page)
  assert.equal(await page.getByRole('dialog').count(), 0)
  assert.equal(await page.getByRole('option').count(), 0)

  await page.goto(`${dashboard.url}/keys`)
  await page.getByRole('row', { name: /ci/ }).waitFor()
  const expected = ['button Create a key', 'button Revoke ci']
  assert.deepEqual(await disabledNames(page, keys + rest), expected)

  await page.goto(`${dashboard.url}/settings`)
  await page.getByRole('button', { name: 'Rename' }).waitFor()
  assert.deepEqual(await disabledNames(page, members + rest), ['button Rename'])

  await page.goto(`${dashboard.url}/audit`)
  await page.getByRole('heading', { name: 'You may not read the audit log' }).waitFor()
})

/** What a press opens is there after two frames. */
async function nextFrames(page: Page): Promise<void> {
  await page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  )
}

async function disabledNames(page: Page, reason: string) {
  const controls = await disabledControls(page)
  for (const { name, description } of controls) assert.equal(description, reason, name)
  return controls.map(({ role, name }) => `${role} ${name}`).toSorted()
}
