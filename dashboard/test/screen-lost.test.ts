import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventually } from '../../server/test/settled.ts'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { canvas, createMachine, driver, picture, takeOver } from './screen-pages.ts'

after(closeBrowser)

/** The browser writes every socket that breaks to the console. */
const brokenSockets = /WebSocket connection to .* failed/

test('a lost gateway dims the picture and tells its age; then the person goes on driving', async (t) => {
  const dashboard = await startDashboard(t)
  const machine = await createMachine(dashboard)
  const options = { expectedErrors: brokenSockets }
  const page = await openPage(t, dashboard, machine.path, options)
  await takeOver(page)
  await page.keyboard.press('a')
  await machine.until('press a', 'release a')

  await dashboard.stopGateway()
  await picture(page, 'old').waitFor()
  await page.getByText('The connection is lost. It is tried again.').waitFor()
  await page.getByText(/This picture is \d+ s old/).waitFor()
  // The last picture is still there.
  assert.ok((await page.locator('[data-picture] canvas').last().boundingBox())!.width > 100)
  await page.keyboard.press('b')
  await dashboard.startGateway()
  await picture(page, 'live').waitFor()
  await driver(page, 'you').waitFor()
  await canvas(page).and(page.locator(':focus')).waitFor()
  await page.keyboard.press('c')
  await machine.until('press c', 'release c')
  assert.deepEqual(machine.keys(), ['press a', 'release a', 'press c', 'release c'])
})

test('a network that goes silent is noticed by its missing ticks', async (t) => {
  const dashboard = await startDashboard(t)
  const machine = await createMachine(dashboard)
  const page = await openPage(t, dashboard, '/account')
  await page.clock.install()
  let isSilent = false
  await page.routeWebSocket(/\/screen/, (socket) => {
    const server = socket.connectToServer()
    server.onMessage((message) => {
      if (!isSilent) socket.send(message)
    })
  })
  await page.goto(dashboard.url + machine.path)
  await picture(page, 'live').waitFor()
  isSilent = true
  await page.clock.fastForward(13_000)
  await picture(page, 'old').waitFor()
  await page.getByText(/This picture is 1\d s old/).waitFor()
  isSilent = false
  await page.clock.fastForward(6_000)
  await picture(page, 'live').waitFor()
})

test('control is renewed while the page is open, and handed back after five hidden minutes', async (t) => {
  const dashboard = await startDashboard(t)
  const machine = await createMachine(dashboard)
  // A clock that jumps gives up connections that are being opened.
  const page = await openPage(t, dashboard, '/account', { expectedErrors: brokenSockets })
  await page.clock.install()
  await page.goto(dashboard.url + machine.path)
  await takeOver(page)
  const { fence } = await machine.lease()
  await page.clock.fastForward(61_000)
  await eventually(async () => (await machine.lease()).fence > fence || undefined)
  await driver(page, 'you').waitFor()

  await page.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  })
  await page.clock.fastForward(4 * 60_000)
  assert.equal((await machine.lease()).holder?.type, 'human')
  await page.clock.fastForward(61_000)
  await driver(page, 'nobody').waitFor()
  assert.equal((await machine.lease()).holder, null)
})

test('leaving the page or the tab of the screen closes the session', async (t) => {
  const dashboard = await startDashboard(t)
  const machine = await createMachine(dashboard)
  const page = await openPage(t, dashboard, machine.path)
  const areClosed = async () =>
    (await machine.sessions()).every(({ state }) => state === 'closed') || undefined
  await takeOver(page)
  await page.getByRole('link', { name: 'Timeline', exact: true }).click()
  await eventually(areClosed)
  await page.goto(dashboard.url + machine.path)
  await takeOver(page)
  assert.equal(await areClosed(), undefined)
  await page.goto(`${dashboard.url}/favicon.svg`)
  await eventually(areClosed)
  assert.equal((await machine.lease()).holder, null)
  assert.equal((await machine.sessions()).length, 2)
})

test('a machine that stops and starts shows its screen again by itself', async (t) => {
  const dashboard = await startDashboard(t)
  const machine = await createMachine(dashboard)
  const page = await openPage(t, dashboard, machine.path)
  await picture(page, 'live').waitFor()
  await dashboard.owner.call('POST', `/v1/machines/${machine.id}/stop?wait=30`)
  await page.getByText('desk is stopped. Start it first.').waitFor()
  await dashboard.owner.call('POST', `/v1/machines/${machine.id}/start?wait=30`)
  await picture(page, 'live').waitFor()
})
