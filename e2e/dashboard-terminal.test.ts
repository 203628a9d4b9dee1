import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { launchChromium } from './harness/chromium.ts'
import { openAs } from './harness/dashboard-page.ts'
import { signInOwner } from './harness/person.ts'
import { eventually } from './harness/polling.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/* The dashboard's terminals and files of a real machine, in a real Chromium. The tests share a machine. */

let server: RealServer
let browser: Browser
let page: Page
let id = ''

before(async () => {
  server = await joinServer()
  browser = await launchChromium()
  id = (await server.api.ok('POST', '/v1/machines', { name: 'dashboard-terminal' })).id
  const ada = await signInOwner(server, 'Ada')
  const context = await openAs(browser, ada, server.api.baseUrl, { acceptDownloads: true })
  page = await context.newPage()
})
after(async () => {
  await browser?.close()
  await server?.[Symbol.asyncDispose]()
})

test('five terminals survive a kill of the gateway with their history, and closing one touches none of the others', async () => {
  await page.goto(`${server.api.baseUrl}/m/${id}/terminal`)
  const opened: string[] = []
  for (const number of [1, 2, 3, 4, 5]) {
    const before = page.url()
    await page.getByRole('button', { name: 'New terminal', exact: true }).first().click()
    await page.waitForURL((url) => url.href !== before && url.searchParams.has('terminal'))
    await shows(/\$\s*$/)
    opened.push(new URL(page.url()).searchParams.get('terminal')!)
    await run(`value=${number}; echo history-of-$((number * 0))$value`)
    await shows(`history-of-0${number}`)
  }
  const tabs = page.getByRole('navigation', { name: 'Terminals' }).getByRole('link')
  assert.equal(await tabs.count(), 5)

  const lost = page.getByText('The connection is lost.').last().waitFor()
  await server.kill('gateway')
  await lost
  await page.keyboard.insertText('echo typed-$value-meanwhile\r')
  const last = await shows('typed-5-meanwhile')
  assert.equal(last.split('history-of-05').length, 2, 'the history is shown once')
  for (const index of [0, 1, 2, 3]) {
    await tabs.nth(index).click()
    await shows(`history-of-0${index + 1}`)
    await run('echo still-$value')
    await shows(`still-${index + 1}`)
  }

  await page
    .getByRole('button', { name: /^Close/ })
    .nth(1)
    .click()
  await page.getByRole('dialog').getByRole('button', { name: 'Close it' }).click()
  const left = opened.filter((_, index) => index !== 1)
  await eventually('one terminal is closed', async () => (await listed()).length === 4)
  assert.deepEqual((await listed()).toSorted(), left.toSorted())
  for (const [index, number] of [1, 3, 4, 5].entries()) {
    await tabs.nth(index).click()
    await run('echo open-$value')
    await shows(`open-${number}`)
  }
})

test('a large file is uploaded in pieces into a folder of the machine', async () => {
  await server.api.run(id, ['mkdir', 'large'])
  await page.goto(`${server.api.baseUrl}/m/${id}/files?path=/home/agent/large`)
  await page.getByRole('heading', { name: 'This folder is empty' }).waitFor()
  const buffer = randomBytes(40 * 1024 * 1024)
  await page
    .locator('input[type=file]')
    .first()
    .setInputFiles({ name: 'large.bin', mimeType: 'application/octet-stream', buffer })
  await page.getByRole('button', { name: 'large.bin', exact: true }).waitFor()
  const copied = await server.api.run(id, ['sh', '-c', 'ls -A large; wc -c < large/large.bin'])
  assert.equal(copied, `large.bin\n${buffer.length}\n`)
  const tail = await server.api.run(id, ['sh', '-c', 'tail -c 8 large/large.bin | base64'])
  assert.equal(tail.trim(), buffer.subarray(-8).toString('base64'))
})

/** Waits until the shown terminal contains a text that the pattern matches. */
async function shows(pattern: RegExp | string): Promise<string> {
  const rows = page.locator('.xterm-rows:visible')
  await rows.filter({ hasText: pattern }).waitFor()
  return (await rows.textContent()) ?? ''
}

async function run(command: string): Promise<void> {
  await page.keyboard.insertText(command)
  await page.keyboard.press('Enter')
}

async function listed(): Promise<string[]> {
  const { data } = await server.api.ok('GET', `/v1/machines/${id}/terminals`)
  return data.map((one: { id: string }) => one.id)
}
