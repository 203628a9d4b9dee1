import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { eventually } from '../../server/test/settled.ts'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { tabTo } from './keyboard.ts'
import { keepPermissions } from './permissions.ts'
import { addMember } from './signing-in.ts'
import { disabledControls } from './spoken.ts'

after(closeBrowser)

test('a key is made with scopes, shown once, works as the line says, and ends when revoked', async (t) => {
  const dashboard = await startDashboard(t)
  const page = await openPage(t, dashboard, '/keys')
  await page.getByRole('heading', { name: 'No API keys yet' }).waitFor()
  await page.getByRole('button', { name: 'Create a key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('ci')
  await dialog.getByRole('button', { name: 'Read only' }).click()
  await dialog.getByRole('checkbox', { name: 'machines:write' }).check()
  await dialog.getByRole('combobox', { name: 'Ends' }).click()
  await page.getByRole('option', { name: 'In 7 days' }).click()
  await dialog.getByRole('button', { name: 'Create', exact: true }).click()

  await page.getByRole('dialog', { name: 'The key ci' }).waitFor()
  const secret = await dialog.getByRole('group', { name: 'API key' }).textContent()
  const lines = await dialog.getByRole('group', { name: 'lines for a shell' }).textContent()
  assert.match(secret ?? '', /^computer_\S+$/)
  const machines = await run(lines!)
  assert.deepEqual(machines.data, [])
  const authorization = `Bearer ${secret}`
  const me = await fetch(`${dashboard.url}/v1/auth/me`, { headers: { authorization } })
  const { api_key: apiKey, permissions } = (await me.json()) as Me
  assert.deepEqual(permissions, ['machines:create', 'machines:delete'])
  assert.ok(apiKey.scopes.includes('machines:write') && !apiKey.scopes.includes('machines:control'))

  // A press outside does not lose what is not shown again.
  await page.mouse.click(5, 5)
  await dialog.getByRole('button', { name: 'Done' }).click()
  await dialog.waitFor({ state: 'detached' })
  assert.ok(!(await page.content()).includes(secret!.slice(-20)))

  await page.reload()
  // Created, last used and ends.
  await page.getByRole('row', { name: /^ci .*Ada Lovelace just now just now in 7 days/ }).waitFor()
  const row = page.getByRole('row', { name: /^ci / })
  await row.getByRole('button', { name: 'Revoke ci' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await row.getByText('Revoked').waitFor()
  await eventually(async () => {
    const { status } = await fetch(`${dashboard.url}/v1/auth/me`, { headers: { authorization } })
    return status === 401 || undefined
  })
})

test('each scope says what it grants its creator now, which follows their permissions', async (t) => {
  const dashboard = await startDashboard(t)
  const page = await openPage(t, dashboard, '/keys')
  const grants = async (scope: string) => {
    const box = page.getByRole('checkbox', { name: scope })
    const id = await box.getAttribute('aria-describedby')
    return page.locator(`[id="${id}"]`).textContent()
  }
  await page.getByRole('button', { name: 'Create a key' }).click()
  assert.equal(await grants('machines:write'), 'May create or fork machines; delete machines.')
  assert.match((await grants('usage:read')) ?? '', /nothing more than reading/)

  await keepPermissions(page, (one) => !/machines:delete|templates/.test(one))
  await page.reload()
  await page.getByRole('button', { name: 'Create a key' }).click()
  assert.equal(
    await grants('machines:write'),
    'May create or fork machines. Not delete machines: you may not yourself.',
  )
  assert.match((await grants('templates:write')) ?? '', /^Grants nothing now: you may not/)
})

test('without a scope there is no key, and the reason is spoken', async (t) => {
  const dashboard = await startDashboard(t)
  const page = await openPage(t, dashboard, '/keys')
  await page.getByRole('button', { name: 'Create a key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Drive machines' }).click()
  const checked = dialog.getByRole('checkbox', { checked: true })
  for (let left = await checked.count(); left > 0; left--) await checked.first().uncheck()
  assert.deepEqual(await disabledControls(page), [
    { role: 'button', name: 'Create', description: 'Choose at least one scope.' },
  ])
})

test('a key is made by keyboard alone', async (t) => {
  const dashboard = await startDashboard(t)
  const page = await openPage(t, dashboard, '/keys')
  await tabTo(page, page.getByRole('button', { name: 'Create a key' }))
  await page.keyboard.press('Enter')
  await page.locator('input[name=name]:focus').waitFor()
  await page.keyboard.type('by keyboard')
  await tabTo(page, page.getByRole('button', { name: 'Read only' }))
  await page.keyboard.press('Enter')
  await tabTo(page, page.getByRole('checkbox', { name: 'machines:control' }))
  await page.keyboard.press('Space')
  await tabTo(page, page.getByRole('button', { name: 'Create', exact: true }))
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'The key by keyboard' }).waitFor()
  await tabTo(page, page.getByRole('button', { name: 'Copy API key' }))
  await tabTo(page, page.getByRole('button', { name: 'Done' }))
  await page.keyboard.press('Enter')
  await page.getByRole('row', { name: /by keyboard/ }).waitFor()
  const { body } = await dashboard.owner.call('GET', '/v1/api-keys')
  assert.ok(body.data[0].scopes.includes('machines:control'))
  await tabTo(page, page.getByRole('button', { name: 'Revoke by keyboard' }))
  await page.keyboard.press('Enter')
  await tabTo(page, page.getByRole('dialog').getByRole('button', { name: 'Revoke' }))
  await page.keyboard.press('Enter')
  await page.getByRole('row', { name: /by keyboard.*Revoked/ }).waitFor()
})

test('the key of somebody who was removed says so', async (t) => {
  const dashboard = await startDashboard(t)
  const grace = { email: 'grace@example.com', name: 'Grace Hopper' }
  const admin = await addMember(dashboard, grace, 'admin')
  await admin.call('POST', '/v1/api-keys', { name: 'hers', scopes: ['machines:read'] })
  const page = await openPage(t, dashboard, '/keys')
  await page.getByRole('row', { name: /hers.*Grace Hopper/ }).waitFor()
  const { body } = await dashboard.owner.call('GET', '/v1/members')
  const membership = body.data.find(({ user }: { user: { id: string } }) => user.id === admin.id)
  await dashboard.owner.call('DELETE', `/v1/members/${membership.id}`)
  await page.reload()
  await page.getByRole('row', { name: /hers.*No longer a member/ }).waitFor()
})

type Me = {
  readonly permissions: readonly string[]
  readonly api_key: { readonly scopes: readonly string[] }
}

async function run(lines: string): Promise<{ readonly data: unknown }> {
  const { stdout } = await promisify(execFile)('bash', ['-euc', lines])
  return JSON.parse(stdout) as { data: unknown }
}
