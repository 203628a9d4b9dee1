import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import sharp from 'sharp'
import { canvas, driver, picture, takeOver } from '../dashboard/test/screen-pages.ts'
import { createApiClient } from './harness/api.ts'
import { launchChromium, silentDecoder } from './harness/chromium.ts'
import { runAdmin } from './harness/person.ts'
import { eventually } from './harness/polling.ts'
import { startRealServer, type RealServer } from './harness/server.ts'

/*
 * A person's first minutes: from the printed link to a website that is open in a machine, has been typed into
 * by the person and is handed back to an agent. The output says how long each step takes the person's
 * browser. COMPUTER_UPDATE_IMAGES saves the pictures of the guide.
 */
test('from the printed link to a website in a machine, typed into and handed back to an agent', async (t) => {
  await using server = await startRealServer()
  await using browser = await launchChromium()
  const { url } = await runAdmin<{ url: string }>(server.dataDir, {
    command: 'login-link',
    email: null,
  })
  const context = await browser.newContext({
    locale: 'en-US',
    colorScheme: 'light',
    viewport: { width: 1280, height: 800 },
  })
  await context.addInitScript(silentDecoder)
  const page = await context.newPage()
  try {
    await playStory(t, page, server, url)
  } catch (error) {
    t.diagnostic(`the page when it failed:\n${await page.locator('body').ariaSnapshot()}`)
    throw error
  }
})

async function playStory(
  t: TestContext,
  page: Page,
  { api }: Pick<RealServer, 'api'>,
  url: string,
): Promise<void> {
  const step = startStopwatch(t)

  await page.goto(url)
  await page.getByLabel('Name').fill('Ada Lovelace')
  await page.getByLabel('Email').fill('ada@example.com')
  await page.getByLabel('Password', { exact: true }).fill('correct horse battery staple')
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByText('No machines yet').waitFor()
  step('the link, an account, and the page of machines')

  await page.getByRole('button', { name: 'Create a machine' }).first().click()
  await page.getByLabel('Name', { exact: true }).fill('research')
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
  await page.waitForURL(/\/m\/mch_/)
  await picture(page, 'live').waitFor()
  step('a machine, and its desktop on the screen')

  const id = /mch_\w+/.exec(page.url())![0]
  await api.waitForDesktop(id)
  await api.ok('PUT', `/v1/machines/${id}/files/content`, { path: 'site.py', content: site })
  await api.launch(id, 'python3 site.py')

  await takeOver(page)
  step('the control of it')
  const isInFront = (title: string) =>
    eventually(`${title} is in front`, async () => {
      const command = ['xdotool', 'getactivewindow', 'getwindowname']
      const { stdout } = await api.ok('POST', `/v1/machines/${id}/exec`, {
        command,
        env: { DISPLAY: ':0' },
      })
      return stdout.includes(title)
    })
  await page.keyboard.press('Control+Alt+t')
  // The shell names the window as it prints its prompt; keys that come before may be lost.
  await isInFront('agent@research')
  await page.keyboard.type('chromium 127.0.0.1:8000')
  await page.keyboard.press('Enter')
  await isInFront('A small shop')
  step('a website in its browser')

  const orders = () => api.run(id, ['cat', '/home/agent/orders.txt'])
  // Chromium drops keys while it starts, so the person tries until the field takes one.
  await eventually('the field has the keyboard', async () => {
    await page.keyboard.press('x')
    return (await orders()).includes('x')
  })
  await page.keyboard.press('Control+a')
  await page.keyboard.press('Delete')
  await eventually('the field is empty', async () => (await orders()).includes('\n\n'))
  await page.keyboard.type('two pears, ')
  await eventually('the person has typed', async () => (await orders()).includes('two pears, '))
  step('text in a field of it')
  await savePicture(page, 'dashboard-screen')

  await page.getByRole('button', { name: 'Hand back' }).click()
  await driver(page, 'nobody').waitFor()
  const key = await page.request.post(`${api.baseUrl}/v1/api-keys`, {
    headers: { origin: api.baseUrl },
    data: { name: 'Shopping agent', scopes: ['machines:control', 'sessions:write'] },
  })
  const { secret } = (await key.json()) as { secret: string }
  const agent = createApiClient(api.baseUrl, secret)
  const { sessionId } = await agent.takeLease(id)
  await page.getByText(/Shopping agent holds it/).waitFor()
  await agent.ok('POST', `/v1/machines/${id}/keyboard/type`, { text: 'three plums\n' })
  await eventually('the agent has ordered', async () =>
    (await orders()).includes('ordered two pears, three plums'),
  )
  step('an agent that goes on in the same field')
  await agent.ok('DELETE', `/v1/machines/${id}/input-lease?session_id=${sessionId}`)
  assert.equal(await canvas(page).count(), 0)

  for (const name of ['builder', 'nightly-tests'])
    await api.waitForDesktop((await api.ok('POST', '/v1/machines', { name })).id)
  await page.getByRole('link', { name: 'Machines' }).first().click()
  await page.locator('#content li img').nth(2).waitFor()
  await savePicture(page, 'dashboard')
}

function startStopwatch(t: TestContext) {
  let before = performance.now()
  return (what: string) => {
    const now = performance.now()
    t.diagnostic(`${what}: ${((now - before) / 1000).toFixed(1)} s`)
    before = now
  }
}

async function savePicture(page: Page, name: string): Promise<void> {
  if (!process.env['COMPUTER_UPDATE_IMAGES']) return
  const image = await sharp(await page.screenshot())
    .png({ palette: true })
    .toBuffer()
  await writeFile(new URL(`../docs/images/${name}.png`, import.meta.url), image)
}

/** A website that notes what happens to its field. */
const site = `
import http.server, urllib.parse
PAGE = b'''<!doctype html><meta charset="utf-8"><title>A small shop</title>
<style>body { font: 20px sans-serif; margin: 3em } input { font: inherit; width: 24em; padding: .4em }</style>
<h1>A small shop</h1><form><label>What would you like? <input autofocus></label></form>
<script>
const field = document.querySelector('input')
const note = (text) => fetch('/', { method: 'POST', body: text })
field.addEventListener('input', () => note(field.value))
document.querySelector('form').addEventListener('submit', (event) => {
  event.preventDefault()
  note('ordered ' + field.value)
})
</script>'''
class Site(http.server.BaseHTTPRequestHandler):
  def do_GET(self):
    self.send_response(200)
    self.send_header('content-type', 'text/html')
    self.end_headers()
    self.wfile.write(PAGE)
  def do_POST(self):
    text = self.rfile.read(int(self.headers['content-length']))
    with open('/home/agent/orders.txt', 'ab') as orders: orders.write(text + b'\\n')
    self.send_response(204)
    self.end_headers()
open('/home/agent/orders.txt', 'w')
http.server.ThreadingHTTPServer(('127.0.0.1', 8000), Site).serve_forever()
`
