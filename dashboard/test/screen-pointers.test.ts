import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '../../server/test/settled.ts'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { canvas, createAgent, createMachine, driver, picture, takeOver } from './screen-pages.ts'
import { addMember } from './signing-in.ts'

after(closeBrowser)

/** Agents stay visible for as long as a test looks. */
const options = { timing: { ghostMs: 60_000 } }
const grace = { email: 'grace@example.com', name: 'Grace Hopper' }

for (const theme of ['light', 'dark'] as const) {
  test(`people see each other's pointers and those of agents, ${theme}`, async (t) => {
    const dashboard = await startDashboard(t, options)
    const machine = await createMachine(dashboard)
    const agent = await createAgent(dashboard, machine.id, 'CI bot')
    const member = await addMember(dashboard, grace)
    const ada = await openPage(t, dashboard, machine.path, { theme })
    const other = await openPage(t, dashboard, machine.path, { theme, as: member })
    for (const page of [ada, other]) await picture(page, 'live').waitFor()

    await moveTo(other, { x: 320, y: 200 })
    await pointer(ada, 'Grace Hopper').waitFor()
    assert.ok(await isAt(ada, 'Grace Hopper', { x: 320, y: 200 }))
    await moveTo(ada, { x: 900, y: 600 })
    await pointer(other, 'Ada Lovelace').waitFor()

    await agent.take()
    await agent.call('POST', 'mouse/click', { at: { x: 1270, y: 790 } })
    for (const page of [ada, other]) {
      await page.locator('[data-pointer=agent][data-clicked] > svg').waitFor()
      assert.ok(await isAt(page, 'CI bot', { x: 1270, y: 790 }))
      assert.equal(await page.locator('[data-pointer]').count(), 2)
    }
    // The names take no room from the page, and nothing reads them out.
    const spoken = await ada.locator('[aria-label=Screen]').ariaSnapshot()
    assert.doesNotMatch(spoken, /Grace Hopper/)

    // It has left the picture.
    await other.getByRole('button', { name: 'Take over' }).hover()
    await pointer(ada, 'Grace Hopper').waitFor({ state: 'detached' })
    await moveTo(other, { x: 1, y: 1 })
    await pointer(ada, 'Grace Hopper').waitFor()
    const { body } = await dashboard.owner.call('GET', '/v1/members')
    const isGrace = ({ user }: { user: { email: string } }) => user.email === grace.email
    await dashboard.owner.call('DELETE', `/v1/members/${body.data.find(isGrace).id}`)
    await pointer(ada, 'Grace Hopper').waitFor({ state: 'detached' })
    await pointer(ada, 'CI bot').waitFor()
  })
}

test('pointers keep their places when the picture changes its size, and take no clicks', async (t) => {
  const dashboard = await startDashboard(t, options)
  const machine = await createMachine(dashboard)
  const agent = await createAgent(dashboard, machine.id, 'CI bot')
  const page = await openPage(t, dashboard, machine.path)
  await picture(page, 'live').waitFor()
  const place = { x: 300, y: 220 }
  await agent.take()
  await agent.call('POST', 'mouse/move', place)
  await pointer(page, 'CI bot').waitFor()
  const staysAtPlace = () =>
    eventually(async () => (await isAt(page, 'CI bot', place)) || undefined)
  await page.setViewportSize({ width: 900, height: 700 })
  await staysAtPlace()
  await page.getByRole('button', { name: 'Scale' }).click()
  await page.getByRole('menuitem', { name: 'Actual size' }).click()
  await eventually(async () => (await pictureBox(page)).width === 1280 || undefined)
  await staysAtPlace()
  await page.mouse.move(450, 400)
  await page.mouse.wheel(100, 50)
  await staysAtPlace()

  // A new connection, which has the pointers too.
  await takeOver(page)
  await staysAtPlace()
  const { x, y, width } = await pictureBox(page)
  const scale = width / 1280
  await page.mouse.click(x + (place.x + 8) * scale, y + (place.y + 20) * scale)
  await machine.until('press left', 'release left')
})

test('a pointer is shared while a button is held, by one connection of the page alone', async (t) => {
  const dashboard = await startDashboard(t, options)
  const machine = await createMachine(dashboard)
  const member = await addMember(dashboard, grace)
  const other = await openPage(t, dashboard, machine.path, { as: member })
  const page = await openPage(t, dashboard, machine.path)
  await picture(other, 'live').waitFor()
  await picture(page, 'live').waitFor()
  await moveTo(page, { x: 100, y: 100 })
  await takeOver(page)
  await canvas(page).hover({ position: { x: 200, y: 150 } })
  await page.mouse.down()
  await moveTo(page, { x: 700, y: 500 })
  await eventually(async () => (await isAt(other, 'Ada Lovelace', { x: 700, y: 500 })) || undefined)
  await page.mouse.up()
  await driver(other, 'another').waitFor()
  assert.equal(await other.locator('[data-pointer]').count(), 1)
  assert.equal(await page.locator('[data-pointer]').count(), 0)
})

/** The arrow with a name. */
function pointer(page: Page, name: string) {
  return page.locator('[data-pointer]', { hasText: name }).locator('> svg')
}

/** The picture on the page. */
async function pictureBox(page: Page) {
  return (await page.locator('[data-picture] canvas').last().boundingBox())!
}

/** Moves the mouse to a pixel of the display. */
async function moveTo(page: Page, at: { x: number; y: number }): Promise<void> {
  const { x, y, width } = await pictureBox(page)
  const scale = width / 1280
  await page.mouse.move(x + (at.x + 0.5) * scale, y + (at.y + 0.5) * scale)
}

/** Whether the tip of a pointer is at a pixel of the display. */
async function isAt(page: Page, name: string, at: { x: number; y: number }): Promise<boolean> {
  const picture = await pictureBox(page)
  const tip = await pointer(page, name).boundingBox()
  if (!tip) return false
  const scale = picture.width / 1280
  const [dx, dy] = [tip.x - picture.x - at.x * scale, tip.y - picture.y - at.y * scale]
  return Math.abs(dx) < 2 && Math.abs(dy) < 2
}
