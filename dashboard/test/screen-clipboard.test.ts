import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '../../server/test/settled.ts'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { createMachine, picture, takeOver } from './screen-pages.ts'

after(closeBrowser)

const longText = Array.from({ length: 10_000 }, (_, at) => '🜁漢ж é'[at % 5] ?? 'a').join('')
const denied = { context: { permissions: [] } }

test('a paste writes the clipboard first, and what is typed next waits for it', async (t) => {
  const dashboard = await startDashboard(t)
  const machine = await createMachine(dashboard)
  const page = await openPage(t, dashboard, machine.path, denied)
  await picture(page, 'live').waitFor()
  await copyOnPage(page, longText)
  await takeOver(page)
  const held = Promise.withResolvers<void>()
  await page.route('**/clipboard', async (route) => {
    await held.promise
    await route.continue()
  })
  const asked = page.waitForRequest('**/clipboard')
  await page.keyboard.press('Control+v')
  await page.keyboard.press('Enter')
  await asked
  held.resolve()
  await machine.until('release 0xff0d')
  assert.deepEqual(
    machine.landed().filter((event) => !event.startsWith('move')),
    [
      'press 0xffe3',
      `clipboard ${longText}`,
      'press v',
      'release v',
      'release 0xffe3',
      'press 0xff0d',
      'release 0xff0d',
    ],
  )
  assert.equal(machine.desktop.pressed.size, 0)
})

test('text that is copied in the machine goes to the clipboard, or to a button where that is refused', async (t) => {
  const dashboard = await startDashboard(t)
  const machine = await createMachine(dashboard)
  const allowed = { context: { permissions: ['clipboard-read', 'clipboard-write'] } }
  const page = await openPage(t, dashboard, machine.path, allowed)
  await takeOver(page)
  machine.screens.update({ type: 'clipboard', text: 'from the machine ✓' })
  const read = () => page.evaluate(() => navigator.clipboard.readText())
  await eventually(async () => (await read()) === 'from the machine ✓' || undefined)
  assert.equal(await page.getByRole('button', { name: 'Copy', exact: true }).count(), 0)

  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))
  })
  machine.screens.update({ type: 'clipboard', text: 'a second text' })
  await page.getByText('Copied in the machine: a second text').waitFor()
  await page.getByRole('button', { name: 'Copy', exact: true }).click()
  await page.getByText('Copied in the machine').waitFor({ state: 'detached' })
  assert.equal(await read(), 'a second text')
})

test('a phone takes over, clicks, types and hands back by touch', async (t) => {
  const dashboard = await startDashboard(t)
  const machine = await createMachine(dashboard)
  const page = await openPage(t, dashboard, machine.path, { phone: true })
  await picture(page, 'live').waitFor()
  await page.getByRole('button', { name: 'Take over' }).tap()
  await page.getByRole('application').waitFor()
  await page.touchscreen.tap(195, 560)
  await machine.until('press left', 'release left')
  await page.getByRole('button', { name: 'Type text' }).tap()
  const field = page.getByLabel('Text to type')
  await field.and(page.locator(':focus')).waitFor()
  await field.fill('hé 漢')
  await page.getByRole('button', { name: 'Type', exact: true }).tap()
  await machine.until('text h', 'text é', 'text  ', 'text 漢')
  await page.getByRole('button', { name: 'Enter' }).tap()
  await machine.until('press 0xff0d', 'release 0xff0d')
  await field.and(page.locator(':focus')).waitFor()
  await field.fill('pasted')
  await page.getByRole('button', { name: 'Paste', exact: true }).tap()
  await machine.until('clipboard pasted', 'press 0xffe3', 'press v', 'release v', 'release 0xffe3')
  const isWider = () =>
    page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
  assert.equal(await isWider(), false)
  await page.getByRole('button', { name: 'Hand back' }).tap()
  await page.getByText('Nobody drives').waitFor()
})

/** Copies as a person does, which needs no permission. */
async function copyOnPage(page: Page, text: string): Promise<void> {
  await page.evaluate((given) => {
    const field = document.createElement('textarea')
    document.body.append(field)
    field.value = given
    field.select()
  }, text)
  await page.keyboard.press('Control+c')
  await page.evaluate(() => document.activeElement!.remove())
}
