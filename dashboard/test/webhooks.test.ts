import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { verify } from '../../server/test/webhook-receiver.ts'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { tabTo } from './keyboard.ts'
import { addMember } from './signing-in.ts'
import { disabledControls } from './spoken.ts'
import { createMachine } from './terminal-page.ts'
import { startStatusReceiver } from './webhook-receiver.ts'

/* Webhooks: made, shown, changed and deleted; their deliveries, and what is done when one fails. */

after(closeBrowser)
const dashboard = await startDashboard({ after })

test('a webhook is made for some types of one machine; its secret is shown once and verifies messages', async (t) => {
  const receiver = await startStatusReceiver(t)
  const { id: machineId } = await createMachine(dashboard, 'watched')
  const page = await openPage(t, dashboard, '/webhooks')
  await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor()
  await page.getByRole('button', { name: 'Create a webhook' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Address').fill('https://10.0.0.1/hook')
  await dialog.getByRole('combobox', { name: 'Machine' }).click()
  await page.getByRole('option', { name: 'watched' }).click()
  await dialog.getByRole('radio', { name: 'Only some types' }).check()
  assert.deepEqual(await disabledControls(page), [
    { role: 'button', name: 'Create', description: 'Choose at least one type.' },
  ])
  await dialog.getByRole('checkbox', { name: 'machine.updated' }).check()
  await dialog.getByLabel('Other types').fill('help.requested, help.ended')
  await dialog.getByRole('button', { name: 'Create', exact: true }).click()
  await dialog.getByText('the address is in a private network').waitFor()
  await dialog.getByLabel('Address').fill(receiver.url)
  await dialog.getByRole('button', { name: 'Create', exact: true }).click()

  const shown = dialog.getByRole('group', { name: 'signing secret' })
  const secret = (await shown.textContent()) ?? ''
  assert.match(secret, /^whsec_\S{30,}$/)
  await dialog.getByText('import { Webhook } from').waitFor()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.reload()
  const row = page.getByRole('row', { name: new RegExp(receiver.host) })
  await row.getByText('machine.updated, help.requested, help.ended').waitFor()
  await row.getByRole('link', { name: 'watched' }).waitFor()
  await row.getByText('Active').waitFor()
  assert.ok(!(await page.content()).includes(secret.slice(-20)))
  // The address is a text, which leads nowhere.
  assert.equal(await page.locator(`a[href*="${receiver.host}"]`).count(), 0)

  await dashboard.owner.call('PATCH', `/v1/machines/${machineId}`, { metadata: { a: 'b' } })
  await row.getByRole('link', { name: 'Deliveries' }).click()
  await page.getByRole('row', { name: /machine\.updated.*Delivered 1 204/ }).waitFor()
  assert.equal(verify(secret, receiver.received[0]!).type, 'machine.updated')
})

test('a failing receiver shows why; its message is sent again, and what was delivered is replayed', async (t) => {
  const receiver = await startStatusReceiver(t)
  receiver.status = 503
  const id = await subscribe(receiver.url)
  const page = await openPage(t, dashboard, '/webhooks')
  const row = page.getByRole('row', { name: new RegExp(receiver.host) })
  await row.getByRole('button', { name: /^Send a test/ }).click()
  await page.waitForURL(`**/webhooks/${id}`)
  const delivery = page.getByRole('row', { name: /webhook\.test/ })
  await delivery.getByText('503').waitFor()
  await delivery.getByText('in a moment').waitFor()
  await page.getByText('Failing').waitFor()

  receiver.status = 200
  await delivery.getByRole('button', { name: 'Send again' }).click()
  await page.getByRole('row', { name: /webhook\.test.*Delivered \d 200/ }).waitFor()
  await page.getByText('Active').waitFor()

  await page.getByRole('combobox', { name: 'State' }).click()
  await page.getByRole('option', { name: 'Failed' }).click()
  await page.waitForURL(/state=failed/)
  await page.getByText('No delivery is failed.').waitFor()
  await page.reload()
  await page.getByText('No delivery is failed.').waitFor()
  const before = receiver.received.length
  await page.getByRole('button', { name: 'Replay since…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('radio', { name: 'That were delivered' }).check()
  await dialog.getByRole('button', { name: 'Replay', exact: true }).click()
  await page.getByText('1 message will be sent again').waitFor()
  await page.goto(`${dashboard.url}/webhooks/${id}?state=delivered`)
  await page.getByRole('row', { name: /Delivered/ }).waitFor()
  assert.equal(receiver.received.length, before + 1)
  assert.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 1)
})

test('a receiver that is gone disables its webhook, which says so and sends nothing until it is enabled', async (t) => {
  const receiver = await startStatusReceiver(t)
  receiver.status = 410
  const id = await subscribe(receiver.url)
  const page = await openPage(t, dashboard, `/webhooks/${id}`)
  await page.getByText('Nothing has been sent in the last 30 days.').waitFor()
  await page.getByRole('button', { name: /^Send a test/ }).click()
  await page.getByText('The receiver answered 410, which means that it is gone').waitFor()
  await page.getByRole('row', { name: /Pending 1 410 Once it is enabled/ }).waitFor()
  const names = [`Send a test to ${receiver.host}`, 'Replay since…', 'Send again webhook.test']
  const controls = await disabledControls(page)
  assert.deepEqual(
    controls.map(({ name, description }) => [name, description]),
    names.map((name) => [name, 'The webhook is disabled. Enable it first.']),
  )
  receiver.status = 200
  await choose(page, 'Enable')
  await page.getByText('Active').waitFor()
  await page.getByRole('button', { name: 'Send again' }).click()
  await page.getByRole('row', { name: /Delivered \d 200/ }).waitFor()
})

test('a webhook is disabled, changed, gets a new secret and is deleted', async (t) => {
  const receiver = await startStatusReceiver(t)
  const id = await subscribe(receiver.url, ['machine.created', 'made.up'])
  const page = await openPage(t, dashboard, '/webhooks')
  const row = page.getByRole('row', { name: new RegExp(receiver.host) })
  const dialog = page.getByRole('dialog')
  await choose(page, 'Disable', receiver.host)
  await dialog.getByText('is not delivered later').waitFor()
  await dialog.getByRole('button', { name: 'Disable' }).click()
  await row.getByText('By a person').waitFor()
  await choose(page, 'Enable', receiver.host)
  await row.getByText('Active').waitFor()

  await choose(page, 'Edit', receiver.host)
  assert.equal(await dialog.getByLabel('Address').inputValue(), receiver.url)
  assert.equal(await dialog.getByLabel('Other types').inputValue(), 'made.up')
  assert.ok(await dialog.getByRole('checkbox', { name: 'machine.created' }).isChecked())
  await dialog.getByRole('radio', { name: 'Everything' }).check()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await row.getByText('Everything').waitFor()

  await choose(page, 'Rotate the secret', receiver.host)
  await dialog.getByRole('button', { name: 'Rotate' }).click()
  const secret = await dialog.getByRole('group', { name: 'signing secret' }).textContent()
  await page.keyboard.press('Escape')
  await dialog.getByText('This is shown only now.').waitFor()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await dialog.waitFor({ state: 'detached' })
  assert.ok(!(await page.content()).includes(secret!.slice(-20)))

  await row.getByRole('link', { name: 'Deliveries' }).click()
  await page.waitForURL(`**/webhooks/${id}`)
  // The address changes before the table of all webhooks is gone.
  const shown = page.getByRole('region', { name: 'Webhook', exact: true })
  await shown.getByRole('button', { name: /^Send a test/ }).click()
  await page.getByRole('row', { name: /webhook\.test.*Delivered/ }).waitFor()
  assert.equal(verify(secret!, receiver.received.at(-1)!).type, 'webhook.test')
  await choose(page, 'Delete')
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.waitForURL('**/webhooks')
  await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor()
  await row.waitFor({ state: 'detached' })
  assert.equal((await dashboard.owner.call('GET', `/v1/webhooks/${id}`)).status, 404)
  await page.goto(`${dashboard.url}/webhooks/${id}`)
  await page.getByRole('alert').getByText(`there is no webhook ${id}`).waitFor()
})

test('deliveries are paged back without a gap or a double while new ones come', async (t) => {
  const receiver = await startStatusReceiver(t)
  const id = await subscribe(receiver.url)
  const send = async (count: number) => {
    for (let sent = 0; sent < count; sent++)
      await dashboard.owner.call('POST', `/v1/webhooks/${id}/test`)
  }
  await send(70)
  const page = await openPage(t, dashboard, `/webhooks/${id}`)
  await page.getByRole('row').nth(50).waitFor()
  await send(5)
  await page.getByRole('button', { name: 'Load older' }).click()
  await page.getByRole('row').nth(75).waitFor()
  const ids = await page.locator('tbody code').allTextContents()
  const { body: first } = await dashboard.owner.call(
    'GET',
    `/v1/webhooks/${id}/deliveries?limit=100`,
  )
  const expected = first.data.map(({ message_id }: { message_id: string }) => message_id)
  assert.deepEqual(ids, expected)
})

test('a webhook is made by keyboard alone', async (t) => {
  const page = await openPage(t, dashboard, '/')
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('w')
  await page.waitForURL('**/webhooks')
  await tabTo(page, page.getByRole('button', { name: 'Create a webhook' }))
  await page.keyboard.press('Enter')
  await page.locator('input[name=url]:focus').waitFor()
  await page.keyboard.type('https://keyboard.example.com/hook')
  await tabTo(page, page.getByRole('button', { name: 'Create', exact: true }))
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: /^The secret of the webhook/ }).waitFor()
  await tabTo(page, page.getByRole('button', { name: 'Copy signing secret' }))
  await tabTo(page, page.getByRole('button', { name: 'Done' }))
  await page.keyboard.press('Enter')
  const actions = page.getByRole('button', {
    name: 'Actions of the webhook to keyboard.example.com',
  })
  await tabTo(page, actions)
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem', { name: 'Delete' }).waitFor()
  await page.keyboard.press('End')
  await page.keyboard.press('Enter')
  await tabTo(page, page.getByRole('dialog').getByRole('button', { name: 'Delete' }))
  await page.keyboard.press('Enter')
  await actions.waitFor({ state: 'detached' })
})

test('a member may neither read nor make webhooks, and is told whom to ask', async (t) => {
  const person = { email: 'grace@example.com', name: 'Grace Hopper' }
  const member = await addMember(dashboard, person)
  const page = await openPage(t, dashboard, '/webhooks', { as: member })
  await page.getByRole('heading', { name: 'You may not read webhooks' }).waitFor()
  const [create, ...others] = await disabledControls(page)
  assert.deepEqual([create?.name, others], ['Create a webhook', []])
  assert.match(create!.description, /^You may not manage API keys and webhooks in .* Ask one of/)
})

async function subscribe(url: string, types = ['webhook.test']): Promise<string> {
  const { body } = await dashboard.owner.call('POST', '/v1/webhooks', { url, types })
  return body.id
}

/** Opens the menu of a webhook and chooses one of its actions. */
async function choose(page: Page, action: string, host = ''): Promise<void> {
  await page.getByRole('button', { name: `Actions of the webhook to ${host}` }).click()
  await page.getByRole('menuitem', { name: action }).click()
}
