import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventually } from '../../server/test/settled.ts'
import { closeBrowser, openPage, startDashboard, type Dashboard } from './harness.ts'
import { createMachine } from './terminal-page.ts'

/* Snapshots and templates: made, used, filtered and deleted. */

after(closeBrowser)

test('a template of an image is made, edited, used and deleted', async (t) => {
  const dashboard = await startDashboard(t)
  const page = await openPage(t, dashboard, '/templates')
  await page.getByRole('heading', { name: 'No templates yet' }).waitFor()
  await page.getByRole('button', { name: 'New template' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('blank')
  await dialog.getByLabel('Description').fill('Nothing on it')
  await dialog.getByRole('button', { name: 'Create the template' }).click()
  const row = page.getByRole('row', { name: /^blank/ })
  await row.getByText('Nothing on it').waitFor()

  await row.getByRole('button', { name: 'Edit blank' }).click()
  await dialog.getByLabel('Name').fill('plain')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('row', { name: /^plain/ }).waitFor()

  await page.getByRole('button', { name: 'New machine from plain' }).click()
  await dialog.getByRole('combobox', { name: 'Template' }).filter({ hasText: 'plain' }).waitFor()
  await dialog.getByRole('button', { name: 'Create', exact: true }).click()
  await page.waitForURL(/\/m\/mch_/)
  const { body } = await dashboard.owner.call('GET', '/v1/machines')
  assert.match(body.data[0].template_id, /^tpl_/)

  await page.goto(`${dashboard.url}/templates`)
  await page.getByRole('button', { name: 'Delete plain' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { name: 'No templates yet' }).waitFor()
})

test('a name that is taken is refused at its field, and what was typed stays', async (t) => {
  const dashboard = await startDashboard(t)
  await dashboard.owner.call('POST', '/v1/templates', { name: 'taken' })
  const page = await openPage(t, dashboard, '/templates')
  await page.getByRole('button', { name: 'New template' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('taken')
  await dialog.getByLabel('Description').fill('Mine')
  await dialog.getByRole('button', { name: 'Create the template' }).click()
  await dialog.getByText(/taken/).first().waitFor()
  assert.equal(await dialog.getByLabel('Description').inputValue(), 'Mine')
})

test('a snapshot is taken; a template is made of it; only the newest can be deleted', async (t) => {
  const dashboard = await startDashboard(t)
  const { id } = await createMachine(dashboard, 'source')
  const page = await openPage(t, dashboard, `/m/${id}/snapshots`)
  await page.getByRole('heading', { name: 'No snapshots yet' }).waitFor()
  for (const name of ['first', 'second']) {
    await page.getByRole('button', { name: 'Take a snapshot' }).click()
    await page.getByLabel('Name', { exact: true }).fill(name)
    await page.getByRole('button', { name: 'Take it' }).click()
    await ready(dashboard, name)
  }
  const blocked = page.getByRole('button', { name: 'Delete first' })
  await blocked.waitFor()
  const reason = await blocked.getAttribute('aria-describedby')
  assert.equal(
    await page.locator(`[id="${reason}"]`).textContent(),
    'Delete “second” first: only the newest snapshot of a machine can be deleted.',
  )

  await page.getByRole('button', { name: 'Make a template from second' }).click()
  await page.getByLabel('Name', { exact: true }).fill('made-of-it')
  await page.getByRole('button', { name: 'Make the template' }).click()
  await page.waitForURL(/\/templates$/)
  await page.getByRole('row', { name: /^made-of-it .*source/ }).waitFor()

  await page.goto(`${dashboard.url}/m/${id}/snapshots`)
  await page.getByRole('button', { name: 'Delete second' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('second', { exact: true }).waitFor({ state: 'detached' })
  assert.equal(await blocked.getAttribute('aria-disabled'), null)
})

test('the snapshots of the organization are filtered by machine and origin, in the address', async (t) => {
  const dashboard = await startDashboard(t)
  for (const name of ['one', 'two']) {
    const { id } = await createMachine(dashboard, name)
    await dashboard.owner.call('POST', '/v1/snapshots', { machine_id: id, name: `of ${name}` })
    await ready(dashboard, `of ${name}`)
  }
  const [{ id }] = (await dashboard.owner.call('GET', '/v1/machines?name=one')).body.data
  await dashboard.owner.call('POST', `/v1/machines/${id}/stop?wait=60`)
  const page = await openPage(t, dashboard, `/snapshots?machine=${id}`)
  const rows = page.getByRole('table').getByRole('row')
  await eventually(async () => (await rows.count()) === 3 || undefined)
  await page.goto(`${dashboard.url}/snapshots?origin=stop`)
  await eventually(async () => (await rows.count()) === 2 || undefined)
  await page.getByRole('row', { name: /one/ }).waitFor()
})

/** Resolves when the snapshot of this name can be used. */
function ready({ owner }: Dashboard, name: string) {
  return eventually(async () => {
    const { body } = await owner.call('GET', '/v1/snapshots')
    const found = (body.data as { name: string; state: string }[]).find((one) => one.name === name)
    return found?.state === 'ready' || undefined
  })
}
