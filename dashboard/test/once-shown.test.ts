import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { createMachine } from './terminal-page.ts'

/* Secrets that are shown once: neither Escape nor a press outside loses them. */

after(closeBrowser)
const dashboard = await startDashboard({ after })
const { id } = await createMachine(dashboard)

const secrets = [
  {
    what: 'an API key',
    path: '/keys',
    async make(page: Page) {
      await page.getByRole('button', { name: 'Create a key' }).click()
      await page.getByLabel('Name').fill('ci')
      await page.getByRole('button', { name: 'Create', exact: true }).click()
      return page.getByRole('group', { name: 'API key' })
    },
  },
  {
    what: 'the secret of a webhook',
    path: '/webhooks',
    async make(page: Page) {
      await page.getByRole('button', { name: 'Create a webhook' }).click()
      await page.getByLabel('Address').fill('https://example.com/hook')
      await page.getByRole('button', { name: 'Create', exact: true }).click()
      return page.getByRole('group', { name: 'signing secret' })
    },
  },
  {
    what: 'the link of an invitation',
    path: '/members',
    async make(page: Page) {
      await page.getByRole('button', { name: 'Invite' }).click()
      await page.getByLabel('Email').fill('grace@example.com')
      await page.getByRole('button', { name: 'Invite', exact: true }).last().click()
      return page.getByRole('group', { name: 'link of the invitation' })
    },
  },
  {
    what: 'the secret of a port',
    path: `/m/${id}/ports`,
    async make(page: Page) {
      await page.getByRole('button', { name: 'Publish a port' }).first().click()
      await page.getByLabel('Port', { exact: true }).fill('3000')
      await page.getByRole('button', { name: 'Publish', exact: true }).click()
      return page.getByRole('group', { name: 'the secret' })
    },
  },
]

for (const { what, path, make } of secrets) {
  test(`${what} stays until the person closes it`, async (t) => {
    const page = await openPage(t, dashboard, path)
    const secret = await make(page)
    const text = await secret.textContent()
    assert.ok(text && text.length > 20)

    await page.keyboard.press('Escape')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('status').getByText('This is shown only now.').waitFor()
    await page.mouse.click(5, 5)
    assert.equal(await secret.textContent(), text)

    await dialog.getByRole('button', { name: 'Done' }).press('Enter')
    await dialog.waitFor({ state: 'detached' })
    assert.ok(!(await page.content()).includes(text.slice(-20)))
  })
}

test('Escape closes what can be opened again', async (t) => {
  const page = await openPage(t, dashboard, '/keys')
  await page.getByRole('button', { name: 'Create a key' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
})
