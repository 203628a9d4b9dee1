import { after, test } from 'node:test'
import { closeBrowser, openPage, startDashboard } from './harness.ts'

after(closeBrowser)

const expectedErrors = /WebSocket connection to .* failed/
const lost = 'The connection for live updates is lost.'

test('a page whose live updates stop says since when, and shows what it missed', async (t) => {
  const dashboard = await startDashboard(t)
  const { owner } = dashboard
  await owner.call('POST', '/v1/machines', { name: 'first' })
  const page = await openPage(t, dashboard, '/?view=list', { expectedErrors })
  const row = (name: string) => page.locator('[data-row]', { hasText: name })
  await row('first').waitFor()
  const notice = page.getByRole('status').filter({ hasText: lost })

  await dashboard.stopGateway()
  await notice.waitFor()
  await owner.call('POST', '/v1/machines', { name: 'second' })
  await dashboard.startGateway()
  await row('second').waitFor()
  await notice.waitFor({ state: 'detached' })
})

test('a page that was opened while the gateway was away becomes live', async (t) => {
  const dashboard = await startDashboard(t)
  const { owner } = dashboard
  await dashboard.stopGateway()
  const page = await openPage(t, dashboard, '/?view=list', { expectedErrors })
  await page.getByText('No machines yet').waitFor()
  await page.getByRole('status').filter({ hasText: lost }).waitFor()
  await owner.call('POST', '/v1/machines', { name: 'first' })
  await dashboard.startGateway()
  await page.locator('[data-row]', { hasText: 'first' }).waitFor()
  await owner.call('POST', '/v1/machines', { name: 'second' })
  await page.locator('[data-row]', { hasText: 'second' }).waitFor()
})

test('a list gains a machine that was created and started while another page was open', async (t) => {
  const dashboard = await startDashboard(t)
  const { owner } = dashboard
  const { body } = await owner.call('POST', '/v1/machines', { name: 'first' })
  const page = await openPage(t, dashboard, '/?view=list')
  await page.locator('[data-row]', { hasText: 'first' }).waitFor()
  await page.getByRole('link', { name: 'first' }).click()
  await page.waitForURL(`**/m/${body.id}`)
  await page.clock.install()
  const shows = (state: string) => page.getByText(state, { exact: true }).first().waitFor()
  await owner.call('POST', '/v1/machines', { name: 'second' })
  // Events come in order: the page has heard of the second machine too.
  await owner.call('POST', `/v1/machines/${body.id}/stop?wait=30`)
  await shows('Stopped')
  // The list is known to be out of date by now, and then one of its machines changes.
  await page.clock.fastForward(2_000)
  await owner.call('POST', `/v1/machines/${body.id}/start?wait=30`)
  await shows('Running')
  await page.getByRole('link', { name: 'Machines' }).first().click()
  await page.locator('[data-row]', { hasText: 'second' }).waitFor()
})
