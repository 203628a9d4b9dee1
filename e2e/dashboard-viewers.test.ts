import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { canvas, driver, picture, takeOver } from '../dashboard/test/screen-pages.ts'
import { launchChromium } from './harness/chromium.ts'
import { openAs } from './harness/dashboard-page.ts'
import { signInOwner } from './harness/person.ts'
import { difference } from './harness/pictures.ts'
import { eventually } from './harness/polling.ts'
import { joinServer } from './harness/shared-server.ts'

test('ten tabs of one person show the same machine, and one of them drives it', async () => {
  await using server = await joinServer()
  await using browser = await launchChromium()
  const { id } = await server.api.ok('POST', '/v1/machines', { name: 'shown-ten-times' })
  const path = (rest: string) => `/v1/machines/${id}/${rest}`
  await server.api.waitForDesktop(id)
  await server.api.launch(id, `xfce4-terminal -x sh -c 'stty -icanon; exec cat >typed.txt'`)
  const typed = () => server.api.call('GET', path('files/content?path=typed.txt'))
  await eventually('the program reads', async () => (await typed()).status === 200)

  const ada = await signInOwner(server, 'Ada')
  const context = await openAs(browser, ada, server.api.baseUrl)
  const tabs = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const page = await context.newPage()
      await page.goto(`${server.api.baseUrl}/m/${id}`)
      await picture(page, 'live').waitFor()
      return page
    }),
  )
  const [first, ...others] = tabs as [Page, ...Page[]]
  const showMachine = () =>
    eventually('every tab shows the screen of the machine', async () => {
      const { bytes } = await server.api.call('GET', path('screenshot'), undefined, {
        accept: 'image/png',
      })
      for (const page of tabs) {
        if ((await difference(bytes, await pictureOf(page))) >= 2) return false
      }
      return true
    })
  await showMachine()

  await takeOver(first)
  await canvas(first).focus()
  await first.keyboard.type('shown ten times')
  await eventually('it arrives', async () => (await typed()).body.content === 'shown ten times')
  for (const page of others) await driver(page, 'another').waitFor()
  await showMachine()

  // Looking opens no session.
  const { data } = await ada.ok('GET', `/v1/sessions?machine_id=${id}&state=active`)
  assert.equal(data.length, 1)
  // Leaving the page hands back.
  await first.goto('about:blank')
  for (const page of others) await driver(page, 'nobody').waitFor()
})

async function pictureOf(page: Page): Promise<Buffer> {
  const script = `[...document.querySelectorAll('[data-picture] canvas')].at(-1).toDataURL()`
  const url = await page.evaluate<string>(script)
  return Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')
}
