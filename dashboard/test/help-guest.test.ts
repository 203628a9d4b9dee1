import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { violationsOf } from './axe.ts'
import { closeBrowser, openContext, openPage, startDashboard } from './harness.ts'
import { assertHarmless, tooWide, watchCanary } from './hostile-answers.ts'
import { bar, card, createAsker, openGuest, takeAsGuest } from './help-pages.ts'
import { watchPage } from './page-watch.ts'
import { canvas, picture } from './screen-pages.ts'

/* The page of somebody without an account, in a browser of its own, most of it on a phone. */

after(closeBrowser)
const dashboard = await startDashboard({ after })

test('a guest opens the link, takes over, types and hands the machine back', async (t) => {
  const agent = await createAsker(dashboard)
  const choices = ['It worked', 'It did not']
  const help = await agent.ask({ choices, message: 'Sign in to the shop, please.' })
  const scripts: string[] = []
  const context = await openContext(dashboard, { as: null, phone: true })
  const page = await context.newPage()
  watchPage(t, page, dashboard.url)
  page.on('request', (request) => {
    if (request.resourceType() === 'script') scripts.push(request.url())
  })
  await page.goto(help.takeover_url)
  await page
    .getByText("shop-agent of Ada Lovelace's organization works on the machine desk-1")
    .waitFor()
  assert.equal(page.url(), `${dashboard.url}/help`)
  assert.equal(await page.evaluate(() => history.length), 2)
  await page.getByText('Sign in to the shop, please.').waitFor()
  await page.getByText('While you have it, nobody else can see the screen').waitFor()
  assert.equal(await page.getByRole('navigation').count(), 0)
  assert.equal(await page.getByRole('link').count(), 0)
  assert.deepEqual(await violationsOf(page, 'the offer'), [])

  await takeAsGuest(page)
  await picture(page, 'live').waitFor()
  assert.deepEqual(await violationsOf(page, 'the screen', { within: 'main' }), [])
  const { session_id } = await agent.untilState(help, 'active')
  assert.equal((await agent.lease()).holder?.session_id, session_id)
  await canvas(page).and(page.locator(':focus')).waitFor()
  await page.keyboard.press('a')
  await agent.until('press a', 'release a')
  // A phone has no keys: the field opens its keyboard.
  await page.getByRole('button', { name: 'Type text' }).click()
  await page.getByRole('textbox', { name: 'Text to type' }).fill('b€')
  await page.getByRole('button', { name: 'Type', exact: true }).click()
  await agent.until('press b', 'release b', 'press 0x10020ac', 'release 0x10020ac')

  // After a reload it works by the cookie.
  await page.reload()
  await page.getByText('You drive').waitFor()
  assert.equal((await agent.read(help)).session_id, session_id)
  await bar(page).getByRole('button', { name: 'It worked' }).click()
  await page.getByRole('heading', { name: 'Thank you' }).waitFor()
  const { answer } = await agent.untilState(help, 'done')
  assert.equal(answer.choice, 'It worked')
  await page.reload()
  await page.getByRole('heading', { name: 'This link does not work' }).waitFor()
  // The rest of the dashboard was never loaded.
  assert.ok(scripts.some((url) => /\/base-/.test(url)))
  assert.deepEqual(
    scripts.filter((url) => /\/first-/.test(url)),
    [],
  )
})

test('a text is pasted over the connection alone', async (t) => {
  const pasted = 'Grüße 🙂'
  const agent = await createAsker(dashboard)
  const help = await agent.ask()
  const page = await openGuest(t, dashboard, help.takeover_url)
  await takeAsGuest(page)
  await page.getByRole('button', { name: 'Type text' }).click()
  await page.getByRole('textbox', { name: 'Text to type' }).fill(pasted)
  await page.getByRole('button', { name: 'Paste' }).click()
  await agent.until(`clipboard ${pasted}`, 'press 0xffe3', 'press v', 'release v')
  await bar(page).getByRole('button', { name: 'Leave it open' }).click()
  await page.getByRole('button', { name: 'Take over' }).waitFor()
  await agent.untilState(help, 'open')
  await agent.call('POST', `/v1/help-requests/${help.id}/cancel`)
  await page
    .getByText(/was cancelled|no access to this request/)
    .first()
    .waitFor()
})

test('a guest who loses the screen is told, and takes it again once it is open', async (t) => {
  const agent = await createAsker(dashboard)
  const help = await agent.ask({ private: false })
  const page = await openGuest(t, dashboard, help.takeover_url)
  await takeAsGuest(page, 'Grace Hopper')
  const watching = await openPage(t, dashboard, '/help-requests')
  await card(watching, 'Grace Hopper (guest) has had it').waitFor()
  const { session_id: before } = await agent.read(help)
  const session = await agent.call('POST', '/v1/sessions', { machine_id: agent.id })
  const lease = { session_id: session.body.id, force: true, ttl_seconds: 60 }
  await agent.call('POST', `/v1/machines/${agent.id}/input-lease`, lease)
  await page.getByRole('alert').filter({ hasText: 'took the machine over from you' }).waitFor()
  await agent.call('DELETE', `/v1/sessions/${session.body.id}`)
  await page.getByRole('alert').filter({ hasText: 'is open again' }).waitFor()
  await page.getByRole('button', { name: 'Take over' }).click()
  await page.getByText('You drive').waitFor()
  const { session_id: now } = await agent.untilState(help, 'active')
  assert.notEqual(now, before)
  await watching.goto(`${dashboard.url}${agent.path}/events`)
  await watching.getByText('Grace Hopper (guest) took over to help').first().waitFor()

  // A new link ends the access of who came by the earlier one.
  await agent.call('POST', `/v1/help-requests/${help.id}/link`)
  await page.getByRole('heading', { name: 'You have no access to this request any more' }).waitFor()
  await agent.call('POST', `/v1/help-requests/${help.id}/cancel`)
})

test('a link works in one browser, in all of its tabs', async (t) => {
  const agent = await createAsker(dashboard)
  const help = await agent.ask()
  const context = await openContext(dashboard, { as: null })
  const pages = [await context.newPage(), await context.newPage()]
  for (const page of pages) watchPage(t, page, dashboard.url)
  await Promise.all(pages.map((page) => page.goto(help.takeover_url)))
  for (const page of pages) await page.getByRole('button', { name: 'Take over' }).waitFor()
  const other = await openGuest(t, dashboard, help.takeover_url)
  await other.getByRole('heading', { name: 'This link does not work' }).waitFor()
  assert.equal(other.url(), `${dashboard.url}/help`)
  for (const forged of ['/help#forged', '/help']) {
    await other.goto('about:blank')
    await other.goto(dashboard.url + forged)
    await other.getByRole('heading', { name: 'This link does not work' }).waitFor()
  }
  // Another link in the same tab takes the place of the first.
  const next = await agent.ask({ message: 'Another thing.' })
  await pages[0]!.evaluate((url) => location.assign(url), next.takeover_url)
  await pages[0]!.getByText('Another thing.').waitFor()
  for (const { id } of [help, next]) await agent.call('POST', `/v1/help-requests/${id}/cancel`)
})

test('hostile words of an agent and names of guests are only texts', async (t) => {
  const agent = await createAsker(dashboard)
  const run = '<img src=x onerror=canary()>'
  const message = `${run} \u202eevil\u2066 javascript:canary() [link](javascript:canary()) ${'w'.repeat(900)}`
  const choices = [`${run}\u202e`, 'x'.repeat(100)]
  const help = await agent.ask({ reason: 'other', message, choices })
  const page = await openGuest(t, dashboard, 'about:blank')
  await watchCanary(page)
  await page.goto(help.takeover_url)
  await page.getByRole('button', { name: 'Show all' }).click()
  await page.getByText(run).first().waitFor()
  await assertInShape(page, 'the offer')
  await takeAsGuest(page, `${run}\u202e${'n'.repeat(40)}`)
  await assertInShape(page, 'the screen')
  const inbox = await openPage(t, dashboard, '/favicon.svg', { phone: true })
  await watchCanary(inbox)
  for (const path of ['/help-requests', agent.path, `${agent.path}/events`]) {
    await inbox.goto(dashboard.url + path)
    await inbox.getByText(run).first().waitFor()
    await assertInShape(inbox, path)
  }
  await bar(page).getByRole('button', { name: run }).click()
  await page.getByRole('heading', { name: 'Thank you' }).waitFor()
  await inbox.goto(`${dashboard.url}/help-requests`)
  await inbox.getByText('handed it back: done, and chose').first().waitFor()
  await assertInShape(inbox, 'the answered request')
})

/** Nothing of the texts has run or become an element, and the page is as wide as its window. */
async function assertInShape(page: Awaited<ReturnType<typeof openGuest>>, where: string) {
  await assertHarmless(page, where)
  assert.equal(await tooWide(page), 0, where)
}
