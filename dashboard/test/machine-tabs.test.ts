import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventually } from '../../server/test/settled.ts'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { createMachine } from './terminal-page.ts'

/* The settings, ports, secrets and events of a machine. */

after(closeBrowser)
const dashboard = await startDashboard({ after })
const { owner } = dashboard

test('a machine is renamed, and a taken name is refused without losing it', async (t) => {
  const { id } = await createMachine(dashboard, 'before')
  await owner.call('POST', '/v1/machines', { name: 'taken', start: false })
  const page = await openPage(t, dashboard, `/m/${id}/settings`)
  const part = page.getByRole('region', { name: 'Name', exact: true })
  const field = part.getByRole('textbox')
  await field.fill('taken')
  await part.getByRole('button', { name: 'Rename' }).click()
  await part.getByText(/taken/).first().waitFor()
  assert.equal(await field.inputValue(), 'taken')

  await field.fill('after')
  await field.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'after' }).waitFor()
  const { body } = await owner.call('GET', `/v1/machines/${id}`)
  assert.equal(body.name, 'after')
})

test('metadata is added, changed and removed, and the rows follow others until they are edited', async (t) => {
  const { id } = await createMachine(dashboard, 'labelled')
  const page = await openPage(t, dashboard, `/m/${id}/settings`)
  const part = page.getByRole('region', { name: 'Metadata' })
  await part.getByText('None yet.').waitFor()
  await owner.call('PATCH', `/v1/machines/${id}`, { metadata: { team: 'shop' } })
  const value = part.getByRole('textbox', { name: 'Value 1' })
  await value.waitFor()
  assert.equal(await value.inputValue(), 'shop')

  await value.fill('growth')
  await part.getByRole('button', { name: 'Add a key' }).click()
  await part.getByRole('textbox', { name: 'Key 2' }).fill('team')
  await part.getByRole('button', { name: 'Save' }).click({ force: true })
  assert.deepEqual(await metadataOf(id), { team: 'shop' }, 'a key that stands twice is not sent')
  await part.getByRole('textbox', { name: 'Key 2' }).fill('task')
  await part.getByRole('textbox', { name: 'Value 2' }).fill('study')
  await part.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The metadata is saved').waitFor()
  assert.deepEqual(await metadataOf(id), { team: 'growth', task: 'study' })

  await part.getByRole('button', { name: 'Remove team' }).click()
  await part.getByRole('button', { name: 'Save' }).click()
  await eventually(async () => !('team' in (await metadataOf(id))) || undefined)
})

test('only a stopped machine changes its size, and the page says so', async (t) => {
  const { id } = await createMachine(dashboard, 'grows')
  const page = await openPage(t, dashboard, `/m/${id}/settings`)
  const part = page.getByRole('region', { name: 'Size' })
  const change = part.getByRole('button', { name: 'Change the size' })
  await part.getByText('Only a stopped machine can change its size.').waitFor({ state: 'attached' })
  assert.equal(await change.getAttribute('aria-disabled'), 'true')

  await owner.call('POST', `/v1/machines/${id}/stop?wait=60`)
  await part.getByText('Choose another size first.').waitFor({ state: 'attached' })
  await part.getByRole('combobox').click()
  await page.getByRole('option', { name: /^standard/ }).click()
  await change.click()
  await page.getByText('grows is standard now').waitFor()
  const { body } = await owner.call('GET', `/v1/machines/${id}`)
  assert.deepEqual([body.size, body.cpu], ['standard', 4])
})

test('a port is published, listed with its address, and unpublished after a question', async (t) => {
  const { id } = await createMachine(dashboard, 'serves')
  const page = await openPage(t, dashboard, `/m/${id}/ports`)
  await page.getByRole('heading', { name: 'No published ports' }).waitFor()
  await page.getByRole('button', { name: 'Publish a port' }).click()
  await page.getByLabel('Port', { exact: true }).fill('8080')
  await page.getByLabel('Name', { exact: true }).fill('shop')
  await page.getByRole('radio', { name: /^Public/ }).check()
  await page.getByRole('button', { name: 'Publish', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Port 8080 of serves is published' })
  await dialog.getByText('Everyone who has this address can open it.').waitFor()
  assert.equal(await dialog.getByRole('group', { name: 'the secret' }).count(), 0)
  await dialog.getByRole('button', { name: 'Done' }).click()

  const row = page.getByRole('row', { name: /8080/ })
  const address = await row.getByRole('link').getAttribute('href')
  const { body } = await owner.call('GET', `/v1/machines/${id}/ports`)
  assert.equal(address, body.data[0].url)
  await row.getByRole('button', { name: 'Unpublish port 8080' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Unpublish' }).click()
  await page.getByRole('heading', { name: 'No published ports' }).waitFor()
  assert.deepEqual((await owner.call('GET', `/v1/machines/${id}/ports`)).body.data, [])
})

test('a secret is stored, replaced and deleted, and its value is nowhere on the page', async (t) => {
  const { id } = await createMachine(dashboard, 'keeps')
  const page = await openPage(t, dashboard, `/m/${id}/secrets`)
  await page.getByRole('button', { name: 'Add secrets' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name', { exact: true }).fill('SHOP_TOKEN')
  await dialog.getByLabel('Value', { exact: true }).fill('first value')
  await dialog.getByRole('button', { name: 'Store' }).click()
  const row = page.getByRole('row', { name: /SHOP_TOKEN/ })
  await row.getByText(/^delivered/).waitFor()
  assert.equal(await valueIn(id), 'first value\n')
  assert.ok(!(await page.content()).includes('first value'))

  await row.getByRole('button', { name: 'Replace SHOP_TOKEN' }).click()
  await dialog.getByLabel('Value', { exact: true }).fill('second value')
  await dialog.getByRole('button', { name: 'Replace' }).click()
  await page.getByRole('row', { name: /SHOP_TOKEN 2 delivered/ }).waitFor()
  assert.equal(await valueIn(id), 'second value\n')

  await row.getByRole('button', { name: 'Delete SHOP_TOKEN' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await row.waitFor({ state: 'detached' })
  await eventually(async () => (await valueIn(id)) === '\n' || undefined)
})

test('lines of KEY=value that are pasted are stored at once, and faults are named before', async (t) => {
  const { id } = await createMachine(dashboard, 'many')
  const page = await openPage(t, dashboard, `/m/${id}/secrets`)
  await page.getByRole('button', { name: 'Add secrets' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Paste several lines' }).click()
  await dialog.getByRole('textbox').first().fill('ONE=1\nexport TWO="two words"\n')
  await dialog.getByRole('button', { name: /^Store/ }).click()
  await page.getByRole('row', { name: /TWO/ }).waitFor()
  const { body } = await owner.call('GET', `/v1/machines/${id}/secrets`)
  assert.deepEqual(
    body.data.map(({ name }: { name: string }) => name),
    ['ONE', 'TWO'],
  )
})

test('events appear as they happen, are filtered by type, and older ones are loaded', async (t) => {
  const { id } = await createMachine(dashboard, 'busy')
  for (let round = 0; round < 120; round++)
    await owner.call('PATCH', `/v1/machines/${id}`, { metadata: { round: String(round) } })
  const page = await openPage(t, dashboard, `/m/${id}/events`)
  const log = page.getByRole('list', { name: 'Timeline, newest first' })
  const entries = log.getByRole('listitem')
  await entries.first().waitFor()
  const isWhole = page.getByText('This is the beginning of the log.')
  assert.equal(await isWhole.count(), 0)
  /* A press while a page still loads would wait for a button that the last page takes away. */
  while ((await isWhole.count()) === 0) {
    const shown = await entries.count()
    await page.getByRole('button', { name: 'Load older' }).click()
    await eventually(async () => (await entries.count()) > shown || undefined)
  }
  assert.match((await entries.last().textContent()) ?? '', /machine\.created/)

  await owner.call('POST', `/v1/machines/${id}/stop?wait=60`)
  await log.getByText('machine.stopped').first().waitFor()
  await page.getByRole('combobox', { name: 'Show' }).click()
  await page.getByRole('option', { name: /^Started/ }).click()
  await page.waitForURL(/type=machine\.started/)
  await eventually(async () => (await entries.count()) === 1 || undefined)
  await page.goto(`${dashboard.url}/m/${id}/events?type=machine.failed`)
  await page.getByRole('heading', { name: 'No event “Failed”' }).waitFor()
})

test('a refresh that fails is told, and the page keeps its place', async (t) => {
  const { id } = await createMachine(dashboard, 'shaky')
  const rename = (round: number) =>
    owner.call('PATCH', `/v1/machines/${id}`, { metadata: { round: String(round) } })
  for (let round = 0; round < 60; round++) await rename(round)
  const page = await openPage(t, dashboard, `/m/${id}/events`)
  const older = page.getByRole('button', { name: 'Load older' })
  await older.focus()
  await page.route(`**/v1/machines/${id}/events**`, (route) => route.fulfill({ status: 500 }))
  await rename(60)
  const notice = page.getByText(/could not be refreshed/)
  await notice.waitFor()
  const isFocused = () => older.evaluate((button) => button === document.activeElement)
  assert.ok(await isFocused(), 'the old log is still the same one')
  const isDimmed = await older.evaluate((button) => {
    const parents = (one: Element | null): Element[] =>
      one === null ? [] : [one, ...parents(one.parentElement)]
    return parents(button).some((one) => getComputedStyle(one).opacity === '0.6')
  })
  assert.ok(isDimmed, 'all of the old log is dimmed')

  await page.unroute(`**/v1/machines/${id}/events**`)
  await page.getByRole('button', { name: 'Try again' }).click()
  await notice.waitFor({ state: 'detached' })
  await older.click()
  await page.getByText('This is the beginning of the log.').waitFor()
})

async function metadataOf(id: string): Promise<Record<string, string>> {
  return (await owner.call('GET', `/v1/machines/${id}`)).body.metadata
}

/** The secret as a new login has it. */
async function valueIn(id: string): Promise<string> {
  const command = ['sh', '-lc', 'echo "$SHOP_TOKEN"']
  return (await owner.call('POST', `/v1/machines/${id}/exec`, { command })).body.stdout
}
