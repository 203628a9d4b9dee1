import type { ScreenPointer } from '@computer/sdk'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test, type TestContext } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { launchChromium, silentDecoder } from '../../e2e/harness/chromium.ts'
import { eventually } from '../../server/test/settled.ts'
import { startComputer } from './computer.ts'

/* The page of `computer view` in a real Chromium: it says who has control, takes it and gives it back. */

const { start, server } = await startComputer({ after }, { timing: { ghostMs: 60_000 } })
let browser: Browser
before(async () => {
  browser = await launchChromium()
})
after(() => browser.close())

/** Starts the command for a new machine, and opens its page. */
async function openPage(
  t: TestContext,
  flags: readonly string[],
  prepare?: (id: string) => unknown,
) {
  const machine = await server.machine()
  await prepare?.(machine.id)
  const running = start(['view', machine.name, '--no-open', ...flags])
  t.after(() => running.child.kill('SIGKILL'))
  const [line] = (await once(running.child.stdout!, 'data')) as [Buffer]
  const context = await browser.newContext({ viewport: { width: 1280, height: 850 } })
  t.after(() => context.close())
  await context.addInitScript(silentDecoder)
  const page = await context.newPage()
  await page.goto(line.toString().trim())
  return { ...machine, ...running, page }
}

async function shows(page: Page, id: 'status' | 'notice', text: string | RegExp): Promise<void> {
  await page.locator(`#${id}`, { hasText: text }).waitFor()
}

async function offers(page: Page): Promise<readonly string[]> {
  return page.locator('button:visible').allTextContents()
}

/** The events of the desktop that the page's keyboard has caused. */
function typed(id: string): readonly string[] {
  return server.guest(id).desktop.events.map(({ event }) => event)
}

async function press(page: Page, key: string): Promise<void> {
  await page.locator('canvas').click()
  await page.keyboard.press(key)
}

const holderOf = async (id: string) =>
  (await server.call('GET', `/v1/machines/${id}/input-lease`)).body.holder

test('with --control the page types, gives control back and takes it again', async (t) => {
  const { id, page, child, ended } = await openPage(t, ['--control'])
  await shows(page, 'status', 'You have control.')
  assert.deepEqual(await offers(page), ['Give control back'])
  const { type, session_id } = await holderOf(id)
  assert.equal(type, 'human')
  await press(page, 'a')
  await eventually(async () => typed(id).includes('press a') || undefined)

  await page.getByRole('button', { name: 'Give control back' }).click()
  await shows(page, 'status', 'Nobody has control.')
  assert.deepEqual([await holderOf(id), await page.locator('#notice').textContent()], [null, ''])
  await press(page, 'b')

  await page.getByRole('button', { name: 'Take control' }).click()
  await shows(page, 'status', 'You have control.')
  await press(page, 'c')
  await eventually(async () => typed(id).includes('press c') || undefined)
  assert.ok(!typed(id).includes('press b'))

  child.kill('SIGINT')
  assert.equal((await ended).code, 0)
  await shows(page, 'status', 'The command "computer view" has ended.')
  assert.equal(await holderOf(id), null)
  const { body } = await server.call('GET', `/v1/sessions?machine_id=${id}`)
  const states = body.data.map((session: { state: string }) => session.state)
  assert.deepEqual([session_id === body.data[0].id, ...states], [true, 'closed'])
})

test('the page says to whom control was lost, and takes it back', async (t) => {
  const { id, page } = await openPage(t, ['--control'])
  await shows(page, 'status', 'You have control.')
  const robot = await server.apiKey({ name: 'Robot <b>1</b>' })
  const session = await robot.call('POST', '/v1/sessions', { machine_id: id })
  const request = { session_id: session.body.id, force: true }
  await robot.call('POST', `/v1/machines/${id}/input-lease`, request)
  await shows(page, 'status', 'A program (Robot <b>1</b>) has control.')
  await shows(page, 'notice', 'Control was taken by a program (Robot <b>1</b>).')
  assert.deepEqual(await offers(page), ['Take control'])

  await page.getByRole('button', { name: 'Take control' }).click()
  await shows(page, 'status', 'You have control.')
  assert.equal(await page.locator('#notice').textContent(), '')
})

test('a machine that somebody controls is shown, and its page offers to take control', async (t) => {
  const { id, page, child, ended } = await openPage(t, ['--control'], (id) => server.lease(id))
  await shows(page, 'status', 'A program (Owner key) has control.')
  assert.deepEqual(await offers(page), ['Take control'])
  await page.getByRole('button', { name: 'Take control' }).click()
  await shows(page, 'status', 'You have control.')
  assert.equal((await holderOf(id)).type, 'human')
  child.kill('SIGTERM')
  assert.match((await ended).stderr, /held by agent session ses_.*the page offers to take control/)
})

test('with --force control is taken right away', async (t) => {
  const { page } = await openPage(t, ['--control', '--force'], (id) => server.lease(id))
  await shows(page, 'status', 'You have control.')
})

test('without --control the page says who has control and offers nothing', async (t) => {
  const { id, page } = await openPage(t, [])
  await shows(page, 'status', 'Nobody has control.')
  await server.lease(id)
  await shows(page, 'status', 'A program (Owner key) has control.')
  assert.deepEqual(await offers(page), [])
  await press(page, 'a')
  const { body } = await server.call('GET', `/v1/sessions?machine_id=${id}&state=active`)
  const types = body.data.map((session: { type: string }) => session.type)
  assert.deepEqual(types.toSorted(), ['agent', 'view'])
  assert.ok(!typed(id).includes('press a'))
})

test('the page shows the pointers of others and of agents, and shares its own', async (t) => {
  const { id, page } = await openPage(t, [])
  await page.locator('canvas').waitFor()
  const told: (readonly ScreenPointer[])[] = []
  const machine = await server.connect().machines.get(id)
  const other = await machine.screen({
    watch: true,
    onMessage: (message) => message.type === 'pointers' && told.push(message.pointers),
  })
  other.point({ x: 1200, y: 790 })
  const label = page.locator('#pointers .agent.right.low bdi')
  await label.getByText('Owner key').waitFor()
  const picture = (await page.locator('canvas').boundingBox())!
  const scale = picture.width / 1280
  const { x, y } = (await page.locator('#pointers .agent').boundingBox())!
  assert.ok(Math.abs(x - picture.x - 1200 * scale) < 1)
  assert.ok(Math.abs(y - picture.y - 790 * scale) < 1)

  await page.mouse.move(picture.x + 300 * scale + 0.2, picture.y + 200 * scale + 0.2)
  await eventually(async () => told.at(-1)?.[0]?.at.x === 300 || undefined)
  const [{ kind, at }] = told.at(-1) as [ScreenPointer]
  assert.deepEqual([kind, at], ['person', { x: 300, y: 200 }])
  await page.locator('#status').hover()
  await eventually(async () => told.at(-1)?.length === 0 || undefined)

  await machine.mouse.click(40, 50)
  await page.locator('#pointers .clicked').waitFor({ state: 'attached' })
  other.close()
  await label.waitFor({ state: 'detached' })
})

test('the page says when the machine stops, and goes on when it runs again', async (t) => {
  const { id, page } = await openPage(t, ['--control'])
  await shows(page, 'status', 'You have control.')
  await server.call('POST', `/v1/machines/${id}/stop?wait=20`)
  await shows(page, 'status', 'The machine is stopped.')
  await server.call('POST', `/v1/machines/${id}/start?wait=20`)
  await shows(page, 'status', /control\.$/)
})

test('a session that somebody closes ends control, and the page goes on with another', async (t) => {
  const { id, page } = await openPage(t, ['--control'])
  await shows(page, 'status', 'You have control.')
  const { session_id } = await holderOf(id)
  await server.call('DELETE', `/v1/sessions/${session_id}`)
  await shows(page, 'status', 'Nobody has control.')
  await page.getByRole('button', { name: 'Take control' }).click()
  await shows(page, 'status', 'You have control.')
  assert.notEqual((await holderOf(id)).session_id, session_id)
})

for (const flags of [[], ['--control']]) {
  test(`the command ends when the machine is deleted ${flags.join('')}`, async (t) => {
    const { id, name, page, ended } = await openPage(t, flags)
    await shows(page, 'status', /control/)
    await server.call('DELETE', `/v1/machines/${id}`)
    const { code, stderr } = await ended
    assert.deepEqual([code, stderr], [5, `error: machine "${name}" was deleted\n`])
    await shows(page, 'status', /deleted/)
  })
}

test('a page that is between two connections when the machine is deleted is told', async (t) => {
  const { id, page, ended } = await openPage(t, ['--control'])
  await shows(page, 'status', 'You have control.')
  await page.evaluate(() => {
    const wait = globalThis.setTimeout
    globalThis.setTimeout = ((act: () => void) => wait(act, 2_000)) as typeof wait
  })
  const { session_id } = await holderOf(id)
  await server.call('DELETE', `/v1/sessions/${session_id}`)
  await shows(page, 'status', 'Connection lost. Reconnecting…')
  await server.call('DELETE', `/v1/machines/${id}`)
  await shows(page, 'status', /deleted/)
  assert.equal((await ended).code, 5)
})
