import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { eventually } from '../../server/test/settled.ts'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { keepPermissions } from './permissions.ts'
import { canvas, createAgent, createMachine, driver, picture, takeOver } from './screen-pages.ts'

after(closeBrowser)

const axePath = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))

/** noVNC keeps the picture when the display changes its size. */
const readsItsCanvas = /Multiple readback operations using getImageData/

test('a screen whose viewer is loaded late shows its picture', async (t) => {
  const dashboard = await startDashboard(t)
  const machine = await createMachine(dashboard)
  const page = await openPage(t, dashboard, '/account')
  const opened = page.waitForEvent('websocket', (socket) => socket.url().endsWith('/screen'))
  await page.route(/\/assets\/rfb-/, async (route) => {
    await (await opened).waitForEvent('framereceived', ({ payload }) => payload[0] === 0x52)
    await route.continue()
  })
  await page.goto(dashboard.url + machine.path)
  await picture(page, 'live').waitFor()
})

test('looking opens no session, and the frame says who drives', async (t) => {
  const dashboard = await startDashboard(t)
  const machine = await createMachine(dashboard)
  const page = await openPage(t, dashboard, machine.path)
  await picture(page, 'live').waitFor()
  await page.getByText('Nobody drives').waitFor()
  assert.deepEqual(await machine.sessions(), [])
  assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1)

  const agent = await createAgent(dashboard, machine.id, 'CI bot')
  await agent.take(40)
  await driver(page, 'another').waitFor()
  await page.getByText(/CI bot holds it, (40|3\d) s left/).waitFor()
  await page.mouse.click(700, 400)
  await page.keyboard.type('x')
  await agent.type('a')
  await machine.until('text a')
  assert.deepEqual(machine.landed(), ['text a'])
})

test('a takeover opens a session, and handing back closes it', async (t) => {
  const dashboard = await startDashboard(t)
  const machine = await createMachine(dashboard)
  const page = await openPage(t, dashboard, machine.path)
  const other = await openPage(t, dashboard, machine.path)
  await picture(other, 'live').waitFor()

  await takeOver(page)
  await page.getByText('You drive').waitFor()
  await other.getByText(/Another window of yours holds it, \d+ s left/).waitFor()
  const [session] = await machine.sessions()
  assert.deepEqual([session!.type, session!.state], ['human', 'active'])
  const { acquired_at, expires_at } = await machine.lease()
  assert.equal(Date.parse(expires_at) - Date.parse(acquired_at), 180_000)

  await page.keyboard.press('a')
  await machine.until('press a', 'release a')
  await canvas(page).click({ position: { x: 200, y: 150 } })
  await machine.until('press left', 'release left')

  await page.getByRole('button', { name: 'Hand back' }).click()
  await driver(page, 'nobody').waitFor()
  await driver(other, 'nobody').waitFor()
  await eventually(
    async () => (await machine.sessions()).every(({ state }) => state === 'closed') || undefined,
  )
  const before = machine.landed().length
  await page.locator('[data-picture] canvas').last().click()
  await page.keyboard.type('late')
  await takeOver(page)
  await page.keyboard.press('z')
  await machine.until('press z', 'release z')
  assert.ok(!machine.landed().slice(before).includes('press l'))
})

test('who loses control looks only, is told to whom, and does not get it back', async (t) => {
  const dashboard = await startDashboard(t)
  const machine = await createMachine(dashboard)
  const agent = await createAgent(dashboard, machine.id, 'CI bot')
  const page = await openPage(t, dashboard, machine.path)
  await takeOver(page)
  await agent.take()
  await page.getByText(/CI bot took over, \d+ s left/).waitFor()
  await page.keyboard.type('late')
  await agent.type('b')
  await agent.release()
  await page.getByText('Nobody drives').waitFor()
  await machine.until('text b')
  assert.deepEqual(machine.keys(), ['text b'])
  assert.equal((await machine.lease()).holder, null)
  await eventually(
    async () =>
      (await machine.sessions()).every(
        ({ type, state }) => type === 'agent' || state === 'closed',
      ) || undefined,
  )
  await picture(page, 'live').waitFor()
})

test('t takes over and hands back, and Ctrl Alt Esc leaves the screen with no key held', async (t) => {
  const dashboard = await startDashboard(t)
  const machine = await createMachine(dashboard)
  const page = await openPage(t, dashboard, machine.path)
  await picture(page, 'live').waitFor()
  await page.keyboard.press('t')
  await driver(page, 'you').waitFor()
  await canvas(page).and(page.locator(':focus')).waitFor()
  await page.keyboard.press('t')
  await machine.until('press t', 'release t')

  await page.keyboard.down('Control')
  await page.keyboard.down('Alt')
  await machine.until('press 0xffe3', 'press 0xffe9')
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Hand back' }).and(page.locator(':focus')).waitFor()
  await page.keyboard.up('Alt')
  await page.keyboard.up('Control')
  await eventually(async () => machine.desktop.pressed.size === 0 || undefined)
  assert.ok(!machine.keys().includes('press 0xff1b'))
  await page.keyboard.press('t')
  await driver(page, 'nobody').waitFor()
})

test('the menu sends the keys that browsers keep', async (t) => {
  const dashboard = await startDashboard(t)
  const machine = await createMachine(dashboard)
  const page = await openPage(t, dashboard, machine.path)
  await picture(page, 'live').waitFor()
  await page.getByRole('button', { name: 'Keys' }).click()
  const item = page.getByRole('menuitem', { name: 'Ctrl Alt Del' })
  await item.getByText('Take over first.').waitFor()
  await page.keyboard.press('Escape')

  await takeOver(page)
  const control = ['press 0xffe3', 'release 0xffe3'] as const
  const alt = ['press 0xffe9', 'release 0xffe9'] as const
  const expected = {
    'Ctrl W': [control[0], 'press w', 'release w', control[1]],
    'Ctrl T': [control[0], 'press t', 'release t', control[1]],
    'Alt Tab': [alt[0], 'press 0xff09', 'release 0xff09', alt[1]],
    'Ctrl Alt Del': [control[0], alt[0], 'press 0xffff', 'release 0xffff', alt[1], control[1]],
    Super: ['press 0xffeb', 'release 0xffeb'],
  }
  for (const [name, keys] of Object.entries(expected)) {
    const before = machine.keys().length
    await page.getByRole('button', { name: 'Keys' }).click()
    await page.getByRole('menuitem', { name }).click()
    await eventually(async () => machine.keys().length >= before + keys.length || undefined)
    assert.deepEqual(machine.keys().slice(before), keys)
  }
  await page.locator('canvas:focus').waitFor()
})

test('a button without its permission says why', async (t) => {
  const dashboard = await startDashboard(t)
  const machine = await createMachine(dashboard)
  const page = await openPage(t, dashboard, '/account')
  await keepPermissions(page, (one) => one !== 'machines:control')
  await page.goto(dashboard.url + machine.path)
  await picture(page, 'live').waitFor()
  const button = page.getByRole('button', { name: 'Take over' })
  assert.equal(await button.getAttribute('aria-disabled'), 'true')
  const reason = await button.evaluate(
    (element) => document.getElementById(element.getAttribute('aria-describedby')!)!.textContent,
  )
  assert.match(reason, /You may not start, stop, drive or change machines/)
  await page.keyboard.press('t')
  assert.deepEqual(await machine.sessions(), [])
})

test('the display follows the window on request, and others see it at its size', async (t) => {
  const dashboard = await startDashboard(t)
  const machine = await createMachine(dashboard)
  const page = await openPage(t, dashboard, machine.path, { expectedErrors: readsItsCanvas })
  await takeOver(page)
  const choose = async (name: string) => {
    await page.getByRole('button', { name: 'Scale' }).click()
    await page.getByRole('menuitem', { name }).click()
  }
  const size = () => canvas(page).evaluate(({ clientWidth }) => clientWidth)
  await choose('Actual size')
  await eventually(async () => (await size()) === 1280 || undefined)
  await choose('Match the window')
  const box = (await page.locator('[data-picture]').boundingBox())!
  const wanted = `resize ${Math.floor(box.width)}x${Math.floor(box.height)}`
  await machine.until(wanted)
  await choose('Fit the page')
  await page.getByRole('button', { name: 'Hand back' }).click()
  await driver(page, 'nobody').waitFor()
  await page.getByRole('button', { name: 'Scale' }).click()
  await page
    .getByRole('menuitem', { name: 'Match the window' })
    .getByText('Take over first: it changes the display.')
    .waitFor()
})

test('a takeover that the plan refuses says so, and the screen stays', async (t) => {
  const dashboard = await startDashboard(t)
  const machine = await createMachine(dashboard)
  const page = await openPage(t, dashboard, machine.path)
  await picture(page, 'live').waitFor()
  await page.route('**/v1/sessions', (route) =>
    route.fulfill({
      status: 403,
      json: { error: { code: 'permission_denied', message: 'no session', request_id: 'req_7' } },
    }),
  )
  await page.getByRole('button', { name: 'Take over' }).click()
  const alert = page.getByRole('alert')
  await alert.getByText('You could not take over.').waitFor()
  await alert.getByText('req_7').waitFor()
  await driver(page, 'nobody').waitFor()
  await picture(page, 'live').waitFor()
})

for (const theme of ['light', 'dark'] as const) {
  test(`no state of the screen has a fault of accessibility, ${theme}`, async (t) => {
    const dashboard = await startDashboard(t)
    const machine = await createMachine(dashboard)
    const agent = await createAgent(dashboard, machine.id, 'CI bot')
    const page = await openPage(t, dashboard, machine.path, { theme })
    await picture(page, 'live').waitFor()
    assert.deepEqual(await findFaults(page), [])
    await takeOver(page)
    await page.getByRole('button', { name: 'Type text' }).click()
    await page.getByLabel('Text to type').waitFor()
    assert.deepEqual(await findFaults(page), [])
    await agent.take()
    await driver(page, 'another').waitFor()
    assert.deepEqual(await findFaults(page), [])
  })
}

async function findFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate(await readFile(axePath, 'utf8'))
  return page.evaluate(`axe.run('main', { resultTypes: ['violations'] }).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`)
}
